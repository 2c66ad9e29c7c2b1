/**
 * Acts of a member that does not lead: its session, its entry in the queue, its claim, its groups.
 */

import assert from 'node:assert/strict';
import { blindable } from '../intercept.ts';
import { NAME, endOf, leaderAndNext, leaderAndTwo } from './arena.ts';
import { CANDIDATES, isClaim, ledBy, queueIs, swapOf, type Act, type Scene } from './lost-acts.ts';
import type { Write } from './lossy-store.ts';

const GROUP = 'brokers';
const isGroupKey = (key: string): boolean => key.startsWith(`groups/${GROUP}/`);

/**
 * The member campaigns and is elected with one entry in the next term, whichever write was lost.
 */
async function elected({ arena, a, base, lose }: Scene, isIt: (write: Write) => boolean): Promise<void> {
  lose(isIt);
  const leadership = await arena.campaign(a);
  assert.equal(leadership.term, base + 1n);
  assert.equal(leadership.isValid(), true);
  await queueIs(arena, a, 'a');
  await leadership.resign();
}

export const memberActs: readonly Act[] = [
  {
    what: 'the grant of a lease',
    so: 'the member is elected by another one',
    spends: { answer: 1, request: 1 },
    leaseEnds: true,
    run: async (scene) => {
      await elected(scene, ({ operation }) => operation === 'grantLease');
      // Nobody knows the lease whose grant was not answered, so it must expire.
      await scene.arena.sleep(scene.a.store.capabilities.expiresWithinMs(scene.arena.ttlMs));
    },
  },
  {
    what: 'a registration',
    so: 'the member is elected, and no duplicate of its own',
    spends: { answer: 1, request: 1 },
    run: (scene) =>
      elected(
        scene,
        swapOf(({ key }) => key.startsWith('members/')),
      ),
  },
  {
    what: "the replacement of a former self's registration",
    so: 'the former self stops, and the new one is elected',
    options: { onDuplicate: 'replace' },
    spends: { answer: 2, request: 2 },
    run: async ({ arena, a, base, lose, openMember }) => {
      const former = await openMember('a');
      const first = await arena.campaign(former);
      lose(swapOf(({ key, expect }) => key.startsWith('members/') && expect !== null));
      const second = await arena.campaign(a);
      assert.deepEqual([first.isValid(), second.term], [false, base + 2n]);
      assert.equal((await endOf(arena, first, arena.soonMs)).reason, 'replaced');
      await second.resign();
    },
  },
  {
    what: 'an enqueue',
    so: 'the candidate has one entry, and is elected',
    spends: { answer: 1, request: 1 },
    run: (scene) => elected(scene, ({ operation }) => operation === 'enqueue'),
  },
  {
    what: 'a claim',
    so: 'the candidate leads by one term',
    spends: { answer: 1, request: 1 },
    run: (scene) => elected(scene, isClaim),
  },
  {
    what: 'the claim of a follower whose turn has come',
    so: 'it leads in the term after the last',
    spends: { answer: 2, request: 2 },
    run: async ({ arena, a, base, lose }) => {
      // A leader that knew its successor would hand over to it.
      const { store, blind } = blindable(await arena.open());
      const b = arena.memberOn(store, 'b', { ttlMs: a.member.timing.ttlMs });
      const first = await arena.campaign(b);
      blind();
      const next = arena.campaign(a);
      await arena.queued(a);
      lose(isClaim);
      await first.resign();
      const second = await next;
      assert.deepEqual([second.term, second.isValid()], [base + 2n, true]);
      await second.resign();
    },
  },
  {
    what: 'the claim of a candidate that then gives up',
    so: 'nobody leads, nothing is left, and the next one follows',
    spends: { answer: 2, request: 1 },
    run: async ({ arena, a, base, loss, lose, lost, openMember }) => {
      const cancel = new AbortController();
      lose(isClaim);
      void lost.then(() => cancel.abort(new Error('enough')));
      await assert.rejects(a.member.election(NAME).campaign({ signal: cancel.signal }), /enough/);
      const b = await openMember('b');
      assert.equal(await ledBy(arena, b), base + (loss === 'answer' ? 2n : 1n));
      await queueIs(arena, b, '');
    },
  },
  {
    what: 'the withdrawal of a candidate',
    so: 'its entry goes, and it is not elected',
    spends: { answer: 2, request: 2 },
    run: async ({ arena, a, base, lose, openMember }) => {
      const [b, c] = [await openMember('b'), await openMember('c')];
      const { first, second, cancel, third } = await leaderAndTwo(arena, [b, a, c]);
      lose(swapOf((change) => change.key.startsWith(CANDIDATES) && 'delete' in change));
      cancel.abort(new Error('enough'));
      await assert.rejects(second, /enough/);
      await queueIs(arena, b, 'b c');
      await first.resign();
      const successor = await third;
      assert.equal(successor.term, base + 2n);
      await successor.resign();
    },
  },
  {
    what: 'the joining of a group',
    so: 'the member is in it, once',
    spends: { answer: 0, request: 0 },
    run: async ({ a, lose, openMember }) => {
      const other = await openMember('b');
      lose(swapOf((change) => isGroupKey(change.key) && 'put' in change));
      await a.member.group(GROUP).join();
      assert.deepEqual(
        (await other.member.group(GROUP).members()).map(({ memberId }) => memberId),
        ['a'],
      );
    },
  },
  {
    what: 'the leaving of a group',
    so: 'the member is not in it',
    spends: { answer: 0, request: 0 },
    run: async ({ a, lose, openMember }) => {
      const other = await openMember('b');
      const group = a.member.group(GROUP);
      await group.join();
      lose(swapOf((change) => isGroupKey(change.key) && 'delete' in change));
      await group.leave();
      assert.deepEqual(await other.member.group(GROUP).members(), []);
    },
  },
  {
    what: 'the revocation of the lease of a member that closes',
    so: 'closing is bounded, and the next one leads',
    leaseEnds: true,
    spends: { answer: 2, request: 2 },
    run: async ({ arena, a, base, lose, openMember }) => {
      const { first, next } = await leaderAndNext(arena, a, await openMember('b'));
      lose(({ operation }) => operation === 'revokeLease');
      const from = arena.now();
      await a.member.close();
      assert.ok(arena.now() - from <= arena.soonMs, `closing took ${arena.now() - from} ms`);
      assert.equal((await endOf(arena, first, arena.soonMs)).reason, 'memberClosed');
      const second = await next;
      assert.equal(second.term, base + 2n);
      await second.resign();
    },
  },
];
