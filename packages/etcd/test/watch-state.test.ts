import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { Namespace } from '../src/namespace.ts';
import { KeyWatchState, ListWatchState } from '../src/watch-state.ts';
import type { KeyValue } from '../src/protocol/kv.ts';

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

/** An event as a server sends it, of a revision that need not be the next one. */
function eventOf(key: string, revision: bigint, deleted = false): { readonly deleted: boolean; readonly kv: KeyValue } {
  return { deleted, kv: { key, value: EMPTY, createRevision: 2n, modRevision: revision, lease: 0n } };
}

/** What a state had before it lost its link. */
const old = new Model();
for (const key of ['space/q/d', 'space/q/gone']) old.change(key, false);

describe('a state', () => {
  it('shows, after any changes, what a list would read: in the order of creation', () => {
    fc.assert(
      fc.property(changes, fc.nat(40), (all, readAt) => {
        const model = new Model();
        const state = new ListWatchState(namespace, 'q');
        state.reset([...old.inOrder], 1n);
        for (const [i, [key, deleted]] of all.entries()) {
          if (i === readAt) state.reset(model.inOrder, model.revision);
          const event = model.change(key, deleted);
          if (i >= readAt) state.apply([event]);
        }
        if (readAt >= all.length) state.reset(model.inOrder, model.revision);
        expect(state.state()).toEqual(model.inOrder.map((kv) => namespace.entry(kv)));
      }),
    );
  });

  it('shows, of one key, the last change', () => {
    const model = new Model();
    const state = new KeyWatchState(namespace, 'q/a');
    state.reset([], 1n);
    expect(state.state()).toBeUndefined();
    state.apply([model.change('space/q/a', false), model.change('space/q/a', true), model.change('space/q/a', false)]);
    expect(state.state()).toMatchObject({ key: 'q/a', name: 'a', revision: '4', order: 4n });
    state.apply([model.change('space/q/a', true)]);
    expect(state.state()).toBeUndefined();
  });

  describe.each([9n, 10n])('of a read at revision 10, given an event of revision %s', (revision) => {
    it('of one key keeps the value that was read', () => {
      const state = new KeyWatchState(namespace, 'q/a');
      state.reset([eventOf('space/q/a', 10n).kv], 10n);
      for (const deleted of [true, false]) state.apply([eventOf('space/q/a', revision, deleted)]);
      expect(state.state()).toMatchObject({ revision: '10' });
    });

    it('of one key keeps it absent', () => {
      const state = new KeyWatchState(namespace, 'q/a');
      state.reset([], 10n);
      state.apply([eventOf('space/q/a', revision)]);
      expect(state.state()).toBeUndefined();
    });

    it('of a list keeps what was read', () => {
      const state = new ListWatchState(namespace, 'q');
      state.reset([eventOf('space/q/a', 10n).kv], 10n);
      state.apply([eventOf('space/q/a', revision, true), eventOf('space/q/b', revision)]);
      expect(state.state()).toMatchObject([{ key: 'q/a', revision: '10' }]);
    });
  });

  it('takes an event that is newer than the read, and none that is no newer than an event it took', () => {
    const key = new KeyWatchState(namespace, 'q/a');
    const list = new ListWatchState(namespace, 'q');
    for (const state of [key, list]) {
      state.reset([eventOf('space/q/a', 10n).kv], 10n);
      state.apply([eventOf('space/q/a', 11n)]);
      state.apply([eventOf('space/q/a', 10n, true)]);
      state.apply([eventOf('space/q/a', 11n, true)]);
    }
    expect(key.state()).toMatchObject({ revision: '11' });
    expect(list.state()).toMatchObject([{ revision: '11' }]);
  });

  it('of a list takes all the events of one revision', () => {
    const state = new ListWatchState(namespace, 'q');
    state.reset([], 10n);
    state.apply([eventOf('space/q/a', 11n), eventOf('space/q/b', 11n)]);
    expect(state.state()).toMatchObject([{ name: 'a' }, { name: 'b' }]);
  });

  it('of one key leaves out events of other keys, and takes the next one of its own', () => {
    const state = new KeyWatchState(namespace, 'q/a');
    state.reset([eventOf('space/q/a', 10n).kv], 10n);
    state.apply([eventOf('space/q/ab', 11n), eventOf('space/q', 12n, true)]);
    expect(state.state()).toMatchObject({ key: 'q/a', revision: '10' });
    state.apply([eventOf('space/q/a', 11n)]);
    expect(state.state()).toMatchObject({ key: 'q/a', revision: '11' });
  });

  it('of a list leaves out events of keys outside its prefix', () => {
    const state = new ListWatchState(namespace, 'q');
    state.reset([eventOf('space/q/a', 10n).kv], 10n);
    state.apply([eventOf('space/r/a', 11n), eventOf('space/q', 12n), eventOf('space/p/z', 13n), eventOf('space/q0', 14n)]);
    expect(state.state()).toMatchObject([{ key: 'q/a', revision: '10' }]);
    state.apply([eventOf('space/q/a', 11n)]);
    expect(state.state()).toMatchObject([{ key: 'q/a', revision: '11' }]);
  });
});
