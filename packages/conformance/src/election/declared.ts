/**
 * Core does not use features that a store declares it does not have. It rejects options that need
 * them at once.
 */

import assert from 'node:assert/strict';
import { isIncumbentError, Member, type ElectionOptions, type StoreCapabilities } from '@incumbent/core';
import type { StoreCase } from '../case.ts';
import { NAME } from './arena.ts';
import { electionCasesOf } from './define.ts';

const define = electionCasesOf('election');

/** The bounds of every store's ttl. See `ttlMs` in core's timing. */
const [SHORTEST_MS, LONGEST_MS] = [250, 86_400_000];

function beyond({ minTtlMs, maxTtlMs }: StoreCapabilities): readonly number[] {
  return [Math.max(minTtlMs, SHORTEST_MS) - 1, Math.min(maxTtlMs, LONGEST_MS) + 1];
}

export const declaredCases: readonly StoreCase[] = [
  define('a store that is not linearizable is refused until it is accepted by its name; any other is taken as it is', async (arena) => {
    const store = await arena.open();
    const { clock } = arena.harness;
    await using member = new Member(store, { memberId: 'a', ttlMs: arena.ttlMs, clock });
    const election = (name: string, options?: ElectionOptions): unknown => member.election(name, options);
    if (store.capabilities.linearizable) {
      assert.doesNotThrow(() => election(NAME));
      assert.doesNotThrow(() => election(`${NAME}-2`, { acceptWeakStore: 'redis' }));
      return;
    }
    for (const options of [{}, { acceptWeakStore: `${store.name}-of-another-kind` }])
      assert.throws(
        () => election(NAME, options),
        (error) => isIncumbentError(error, 'WEAK_STORE'),
      );
    assert.doesNotThrow(() => election(NAME, { acceptWeakStore: store.name }));
  }),

  define('a ttl that the store does not grant is refused where it is asked for, with the range', async (arena) => {
    const store = await arena.open();
    for (const ttlMs of beyond(store.capabilities))
      assert.throws(() => new Member(store, { ttlMs }), {
        name: 'RangeError',
        code: 'INVALID_OPTION',
        message: new RegExp(`ttlMs is ${ttlMs}: .*${store.name}`),
      });
  }),
];
