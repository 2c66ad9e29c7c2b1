import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { Namespace } from '../src/codec.ts';
import { KeyMirror, ListMirror } from '../src/mirror.ts';
import type { KeyValue } from '../src/wire/kv.ts';

const namespace = new Namespace('space');
const EMPTY = new Uint8Array(0);

/** A store as simple as can be: what a range would read. */
class Model {
  readonly #kvs = new Map<string, KeyValue>();
  #revision = 1n;

  change(key: string, deleted: boolean): { readonly deleted: boolean; readonly kv: KeyValue } {
    this.#revision += 1n;
    const before = this.#kvs.get(key);
    const kv = { key, value: EMPTY, createRevision: before?.createRevision ?? this.#revision, modRevision: this.#revision, lease: 0n };
    if (deleted) this.#kvs.delete(key);
    else this.#kvs.set(key, kv);
    return { deleted, kv };
  }

  get revision(): bigint {
    return this.#revision;
  }

  get inOrder(): KeyValue[] {
    return [...this.#kvs.values()].toSorted((a, b) => Number(a.createRevision - b.createRevision));
  }
}

const changes = fc.array(fc.tuple(fc.constantFrom('space/q/a', 'space/q/b', 'space/q/c', 'space/q/d'), fc.boolean()), { maxLength: 40 });

/** What a mirror had before it lost its link. */
const old = new Model();
for (const key of ['space/q/d', 'space/q/gone']) old.change(key, false);

describe('a mirror', () => {
  it('shows, after any changes, what a list would read: in the order of creation', () => {
    fc.assert(
      fc.property(changes, fc.nat(40), (all, readAt) => {
        const model = new Model();
        const mirror = new ListMirror(namespace, 'q');
        mirror.reset([...old.inOrder], 1n);
        for (const [i, [key, deleted]] of all.entries()) {
          if (i === readAt) mirror.reset(model.inOrder, model.revision);
          const event = model.change(key, deleted);
          if (i >= readAt) mirror.apply([event]);
        }
        if (readAt >= all.length) mirror.reset(model.inOrder, model.revision);
        expect(mirror.state()).toEqual(model.inOrder.map((kv) => namespace.entry(kv)));
      }),
    );
  });

  it('shows, of one key, the last change', () => {
    const model = new Model();
    const mirror = new KeyMirror(namespace, 'q/a');
    mirror.reset([], 1n);
    expect(mirror.state()).toBeUndefined();
    mirror.apply([model.change('space/q/a', false), model.change('space/q/a', true), model.change('space/q/a', false)]);
    expect(mirror.state()).toMatchObject({ key: 'q/a', name: 'a', revision: '4', order: 4n });
    mirror.apply([model.change('space/q/a', true)]);
    expect(mirror.state()).toBeUndefined();
  });
});
