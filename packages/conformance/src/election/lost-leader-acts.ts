/** Acts of a leader: its renewals, what it publishes and writes, and the end of its term. */

import assert from 'node:assert/strict';
import { outcomeOf, type Leadership, type SwapResult } from '@incumbent/core';
import { endOf, leaderAndNext, leaderAndTwo, type TestMember } from './arena.ts';
import { CANDIDATES, isClaim, LEADER, queueIs, swapOf, type Act, type Scene } from './lost-acts.ts';
import type { Write } from './lossy-store.ts';

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

/** The swap that ends a term on purpose. */
const isRelease = swapOf((change) => change.key === LEADER && 'delete' in change);
/** The swap that hands over also updates the successor's entry. */
const isHandover = swapOf((change) => change.key.startsWith(CANDIDATES) && 'put' in change);

/**
 * The first member hands over to the last one. The member between them in the queue then gives up.
 */
async function handover(
  { arena, base, lose }: Scene,
  members: readonly [TestMember, TestMember, TestMember],
  isIt: (write: Write) => boolean,
): Promise<Leadership> {
  const { memberId } = members[2].member;
  const { first, second, cancel, third } = await leaderAndTwo(arena, members);
  lose(isIt);
  await first.handover(memberId);
  const successor = await third;
  assert.deepEqual([successor.memberId, successor.term], [memberId, base + 2n]);
  cancel.abort();
  await assert.rejects(second);
  return successor;
}

export const leaderActs: readonly Act[] = [
  {
    what: 'a renewal',
    so: 'leadership goes on',
    spends: { answer: 1, request: 1 },
    run: async ({ arena, a, lose, lost }) => {
      const leadership = await arena.campaign(a);
      lose(({ operation }) => operation === 'renewLease');
      await lost;
      const remainingMs = leadership.remainingMs();
      await arena.until(() => leadership.remainingMs() > remainingMs, 'the lease is renewed again', 4 * arena.ttlMs);
      assert.equal(leadership.isValid(), true);
      await leadership.resign();
    },
  },
  {
    what: 'a publication',
    so: 'the value is there, in the same term',
    spends: { answer: 1, request: 1 },
    run: async ({ arena, a, base, lose }) => {
      const leadership = await arena.campaign(a, { value: { n: 0 } });
      lose(swapOf((change) => change.key === LEADER && 'put' in change && change.expect !== null));
      await leadership.publish({ n: 1 });
      const shown = await arena.observer(await arena.open()).leader();
      assert.deepEqual([shown?.value, shown?.term, leadership.isValid()], [{ n: 1 }, base + 1n, true]);
      await leadership.publish({ n: 2 });
      await leadership.resign();
    },
  },
  {
    what: "a leader's own guarded swap",
    so: 'its caller is told that nobody knows, can read it, and leads on',
    spends: { answer: 1, request: 1 },
    run: async ({ arena, a, base, loss, lose }) => {
      const leadership = await arena.campaign(a);
      const other = await arena.open();
      const key = `work/${base}`;
      const write = (): Promise<SwapResult> => leadership.swap([{ key, expect: null, put: encode('done') }]);
      // The first write of its kind: a store may first have to create its parent, which is also a
      // write.
      await leadership.swap([{ key: `${key}-before`, expect: null, put: encode('done') }]);
      lose(swapOf((change) => change.key === key));
      await assert.rejects(write(), (error) => outcomeOf(error) !== 'refused');
      const found = await other.read(key, { timeoutMs: arena.harness.timeoutMs });
      assert.equal(found !== undefined, loss === 'answer');
      await arena.until(async () => (await write().catch(() => undefined)) !== undefined, 'it is written, or known to be');
      assert.equal((await write()).swapped, false);
      assert.equal(leadership.isValid(), true);
      await leadership.resign();
    },
  },
  {
    what: 'the update of a stored value',
    so: 'the update has taken place once',
    spends: { answer: 1, request: 1 },
    run: async ({ arena, a, base, lose }) => {
      const leadership = await arena.campaign(a);
      const other = await arena.open();
      const key = `work/${base}`;
      const count = leadership.stored<number>(key);
      await leadership.stored(`${key}-before`).put('done');
      lose(swapOf((change) => change.key === key));
      for (const n of [1, 2]) assert.equal(await count.update((last = 0) => last + 1), n);
      assert.equal(await count.get(), 2);
      assert.deepEqual((await other.read(key, { timeoutMs: arena.harness.timeoutMs }))?.value, encode('2'));
      assert.equal(leadership.isValid(), true);
      await leadership.resign();
    },
  },
  {
    what: 'a resignation',
    so: 'the term has ended, and the next one leads',
    spends: { answer: 2, request: 2 },
    run: async ({ arena, a, base, lose, openMember }) => {
      const b = await openMember('b');
      const { first, next } = await leaderAndNext(arena, a, b);
      lose(isRelease);
      await first.resign();
      assert.equal((await endOf(arena, first, arena.soonMs)).reason, 'resigned');
      const second = await next;
      assert.equal(second.term, base + 2n);
      await queueIs(arena, b, 'b');
      await second.resign();
    },
  },
  {
    what: 'a handover',
    so: 'the successor leads, and nobody before it',
    spends: { answer: 2, request: 2 },
    run: async (scene) => {
      const { arena, a, openMember } = scene;
      const [b, c] = [await openMember('b'), await openMember('c')];
      const successor = await handover(scene, [a, b, c], isHandover);
      await queueIs(arena, c, 'c');
      await successor.resign();
    },
  },
  {
    what: 'the claim of a successor',
    so: 'the successor leads, and nobody before it',
    needs: ['ownLeasesOnly'],
    spends: { answer: 2, request: 2 },
    run: async (scene) => {
      const { a, openMember } = scene;
      const [b, c] = [await openMember('b'), await openMember('c')];
      const successor = await handover(scene, [b, c, a], isClaim);
      await successor.resign();
    },
  },
];
