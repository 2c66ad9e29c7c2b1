/**
 * Jepsen's locks. A lock alone does not protect a resource from a stale holder, and a fence does.
 * Each scenario shows both on the same history.
 */

import assert from 'node:assert/strict';
import { Fence, isIncumbentError, type Leadership } from '@incumbent/core';
import type { StoreCase } from '../case.ts';
import type { Arena } from '../election/arena.ts';
import { electionCasesOf } from '../election/define.ts';

const define = electionCasesOf('Jepsen');
const put = new Uint8Array([1]);

/**
 * `a` checks that it leads and is then stopped. Then `b` leads. Returns both leaderships. The first
 * is stale, and its holder does not know that.
 */
async function staleHolder(arena: Arena): Promise<{ readonly stale: Leadership; readonly next: Leadership; wake(): Promise<void> }> {
  const [a, b] = [await arena.faultyMember('a'), await arena.member('b')];
  const stale = await arena.campaign(a);
  const campaigning = arena.campaign(b);
  await arena.queued(b);
  assert.equal(stale.isValid(), true);
  a.clock.pause();
  await a.faults.stall();
  const next = await campaigning;
  const wake = async (): Promise<void> => {
    a.clock.resume();
    await a.faults.heal();
  };
  return { stale, next, wake };
}

export const jepsenCases: readonly StoreCase[] = [
  define(
    'F01 a holder that stood still after it had asked writes late: a resource without a fence takes it, one with a fence does not, nor does the store (Jepsen etcd lock)',
    async (arena) => {
      const { stale, next, wake } = await staleHolder(arena);
      const unguarded: bigint[] = [];
      const guarded: bigint[] = [];
      const fence = new Fence();
      const write = ({ term }: Leadership): void => {
        unguarded.push(term);
        fence.admit(term);
        guarded.push(term);
      };
      const store = await arena.open();
      const swap = async (holder: Leadership): Promise<boolean> => {
        const changes = [holder.guard(), { key: `work/${holder.term}`, expect: null, put }];
        return (await store.compareAndSwap(changes, { timeoutMs: arena.harness.timeoutMs })).swapped;
      };
      write(next);
      assert.equal(await swap(next), true);
      assert.throws(
        () => write(stale),
        (error) => isIncumbentError(error, 'STALE_TERM'),
      );
      assert.equal(await swap(stale), false);
      await wake();
      assert.deepEqual(unguarded, [next.term, stale.term]);
      assert.deepEqual(guarded, [next.term]);
      assert.equal(await store.read(`work/${stale.term}`, { timeoutMs: arena.harness.timeoutMs }), undefined);
      assert.equal(stale.isValid(), false);
    },
    { faults: ['stall'], calm: true },
  ),

  define(
    'F02 a set that is read, added to and written back under the lock loses an element without a fence, and none with one (Jepsen etcd lock-set)',
    async (arena) => {
      const unguarded = { set: new Set<string>(['old']) };
      const guarded = { set: new Set<string>(['old']), fence: new Fence() };
      const { stale, next, wake } = await staleHolder(arena);
      const begin = ({ term }: Leadership) => {
        // A read also reports the term to the fence.
        guarded.fence.admit(term);
        return { term, unguarded: [...unguarded.set], guarded: [...guarded.set] };
      };
      const finish = (read: ReturnType<typeof begin>, element: string): void => {
        unguarded.set = new Set([...read.unguarded, element]);
        guarded.fence.admit(read.term);
        guarded.set = new Set([...read.guarded, element]);
      };
      const before = begin(stale);
      finish(begin(next), 'new');
      assert.throws(
        () => finish(before, 'late'),
        (error) => isIncumbentError(error, 'STALE_TERM'),
      );
      await wake();
      assert.deepEqual([...unguarded.set], ['old', 'late']);
      assert.deepEqual([...guarded.set], ['old', 'new']);
    },
    { faults: ['stall'], calm: true },
  ),
];
