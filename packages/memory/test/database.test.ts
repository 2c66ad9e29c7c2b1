/** Invariants of the data of a server, over random operations. */

import assert from 'node:assert/strict';
import type { Key } from '@incumbent/core';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { ManualClock } from '@incumbent/memory';
import { pathsAbove } from '../src/key-table.ts';
import { revisionOf, Database, type Limits } from '../src/database.ts';

const LIMITS: Limits = {
  assignableLease: true,
  revisionsSurviveDeletion: true,
  maxChanges: 10,
  maxValueBytes: 10,
  minTtlMs: 1,
  maxTtlMs: 1_000,
};

const KEYS = ['a', 'a/b', 'a/b/c', 'a/d', 'ab', 'b/a'] as const;

const operation = fc.oneof(
  fc.record({ kind: fc.constant('put'), key: fc.constantFrom(...KEYS), lease: fc.nat(3) }),
  fc.record({ kind: fc.constant('delete'), key: fc.constantFrom(...KEYS), lease: fc.constant(0) }),
  fc.record({ kind: fc.constantFrom('revoke', 'grant'), key: fc.constant('a'), lease: fc.nat(3) }),
);

/** One client that runs operations and records every notification of changed keys. */
class World {
  readonly changed: Key[][] = [];
  readonly database = new Database(new ManualClock(), LIMITS, (keys) => this.changed.push([...keys]));
  readonly #leases: string[] = [];

  do({ kind, key, lease }: { readonly kind: string; readonly key: Key; readonly lease: number }): void {
    const row = this.database.read(key);
    const revision = row === undefined ? null : revisionOf(row);
    const id = this.#leases[lease] ?? null;
    if (kind === 'grant') this.#leases.push(this.database.grant(100, 1).id);
    else if (kind === 'revoke') this.database.revoke(this.#leases.splice(lease, 1)[0] ?? '');
    else if (kind === 'put') this.database.swap([{ key, expect: revision, put: new Uint8Array(1), lease: id }], 1);
    else if (revision !== null) this.database.swap([{ key, expect: revision, delete: true }], 1);
  }

  check(): void {
    const rows = this.database.all();
    assert.deepEqual(
      rows.map((row) => row.order),
      rows.map((row) => row.order).toSorted((a, b) => a - b),
    );
    for (const prefix of ['a', 'a/b', 'a/d', 'b', 'none']) {
      assert.deepEqual(
        this.database.list(prefix),
        rows.filter((row) => row.key.startsWith(`${prefix}/`)),
      );
    }
    const bound = rows.filter((row) => row.lease !== undefined).map((row) => `${row.lease} ${row.key}`);
    const held = this.database.leases().flatMap((lease) => [...lease.keys].map((key) => `${lease.id} ${key}`));
    assert.deepEqual(held.toSorted(), bound.toSorted());
  }
}

it('lists, bindings and order agree with the keys after any sequence of changes', () => {
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 60 }), (operations) => {
      const world = new World();
      for (const each of operations) {
        const before = new Map(world.database.all().map((row) => [row.key, row]));
        world.changed.length = 0;
        world.do(each);
        world.check();
        const after = new Map(world.database.all().map((row) => [row.key, row]));
        const differ = [...new Set([...before.keys(), ...after.keys()])].filter((key) => before.get(key) !== after.get(key));
        // Called once, with exactly what changed.
        expect(world.changed.flat().toSorted()).toEqual(differ.toSorted());
        expect(world.changed.length).toBeLessThanOrEqual(1);
      }
    }),
  );
});

it('a key belongs to the list of each of its parent paths', () => {
  expect([pathsAbove('a'), pathsAbove('a/b/c')]).toEqual([[], ['a', 'a/b']]);
});
