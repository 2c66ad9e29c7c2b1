/** Of a leader: its renewals, what it publishes and writes, and the end of its term. */

import assert from 'node:assert/strict';
import { outcomeOf, type SwapResult } from '@incumbent/core';
import { endOf } from './arena.ts';
import { CANDIDATES, isClaim, LEADER, queueIs, swapOf, type Act } from './lost-acts.ts';

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

/** The swap that ends a term on purpose. */
const isRelease = swapOf((change) => change.key === LEADER && 'delete' in change);
/** The swap that hands over marks the entry of the successor. */
const isHandover = swapOf((change) => change.key.startsWith(CANDIDATES) && 'put' in change);

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
      // The first of its kind: a store may have to make a place for it, which is a write as well.
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
    what: 'a resignation',
    so: 'the term has ended, and the next one leads',
    spends: { answer: 2, request: 2 },
    run: async ({ arena, a, base, lose, openMember }) => {
      const b = await openMember('b');
      const first = await arena.campaign(a);
      const next = arena.campaign(b);
      await arena.queued(b);
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
    run: async ({ arena, a, base, lose, openMember }) => {
      const [b, c] = [await openMember('b'), await openMember('c')];
      const first = await arena.campaign(a);
      const cancel = new AbortController();
      const waiting = arena.campaign(b, undefined, cancel.signal);
      await arena.queued(b);
      const next = arena.campaign(c);
      await arena.queued(c);
      lose(isHandover);
      await first.handover('c');
      const second = await next;
      assert.deepEqual([second.memberId, second.term], ['c', base + 2n]);
      cancel.abort();
      await assert.rejects(waiting);
      await queueIs(arena, c, 'c');
      await second.resign();
    },
  },
  {
    what: 'the claim of a successor',
    so: 'the successor leads, and nobody before it',
    needs: ['ownLeasesOnly'],
    spends: { answer: 2, request: 2 },
    run: async ({ arena, a, base, lose, openMember }) => {
      const [b, c] = [await openMember('b'), await openMember('c')];
      const first = await arena.campaign(b);
      const cancel = new AbortController();
      const waiting = arena.campaign(c, undefined, cancel.signal);
      await arena.queued(c);
      const next = arena.campaign(a);
      await arena.queued(c, 'a');
      lose(isClaim);
      await first.handover('a');
      const second = await next;
      assert.deepEqual([second.memberId, second.term], ['a', base + 2n]);
      cancel.abort();
      await assert.rejects(waiting);
      await second.resign();
    },
  },
];
