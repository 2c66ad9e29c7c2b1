/** Why the leader changed, as observers show it with the next leader. */

import { describe, expect, it } from 'vitest';
import { ElectionAdmin, type ElectionObserver, type LeaderView, type PreviousTerm } from '../../src/index.ts';
import { after, behind, led, type Led } from '../support/led.ts';
import { track } from '../support/track.ts';
import { LEADER, NAME, TERM, TTL_MS, World } from '../support/world.ts';

/** How the term of the leader `a` ends, and the reason that the next leader's record has. */
const ends: Readonly<Record<string, (led: Led) => unknown>> = {
  handover: ({ leadership }) => leadership.handover('b'),
  resigned: ({ leadership }) => leadership.resign(),
  memberClosed: ({ member }) => member.close(),
  steppedDown: ({ world }) => new ElectionAdmin(world.connect(), NAME).stepDown(1n),
  recordDeleted: ({ world }) => world.server.deleteKey(LEADER),
  entryDeleted: ({ world }) => world.server.deleteKey(String(world.json(TERM)?.['entry'])),
  expired: ({ world, store }) => {
    store.link.cutOff();
    return after(world, 2 * TTL_MS);
  },
};

/** A leader, and an observer that has seen it. */
async function observed(): Promise<Led & { readonly observer: ElectionObserver }> {
  const started = await led();
  const observer = started.world.observer();
  await started.world.run(observer.ready);
  return { ...started, observer };
}

function leaderOf({ current }: ElectionObserver): LeaderView {
  if (current.state !== 'leader') throw new Error(`the view is ${current.state}`);
  return current;
}

function previousOf(observer: ElectionObserver): PreviousTerm | undefined {
  return leaderOf(observer).previous;
}

describe.each([
  ['in one swap', {}],
  ['in two steps', { assignableLease: false, revisionsSurviveDeletion: false }],
] as const)('where a handover is %s,', (_, options) => {
  it.each(Object.entries(ends))('every observer shows that the term before ended as %s', async (reason, end) => {
    const led_ = await led(options);
    const { world } = led_;
    const next = await behind(world, 'b');
    const watching = world.observer();
    await world.run(watching.ready);
    expect(previousOf(watching)).toBeUndefined();
    await world.run(Promise.resolve(end(led_)));
    await world.pass(2 * TTL_MS);
    expect(next.value?.term).toBe(2n);
    const late = world.observer();
    await world.run(late.ready);
    expect(previousOf(late)).toEqual({ term: 1n, memberId: 'a', reason });
    const isVacant = !(reason === 'handover' && !('assignableLease' in options));
    expect(previousOf(watching)).toEqual({
      term: 1n,
      memberId: 'a',
      reason,
      ...(isVacant ? { vacantForMs: expect.any(Number) } : {}),
    });
    const { leader } = await world.run(new ElectionAdmin(world.connect(), NAME).state());
    expect(leader?.previous).toEqual({ term: 1n, memberId: 'a', reason });
    await world.close();
  });
});

describe('the length of the vacancy', () => {
  it('is measured from the end of one leader to the start of the next', async () => {
    const { world, leadership, observer } = await observed();
    await world.run(leadership.resign());
    await world.pass(1_234);
    await world.elect(world.member('b'));
    await world.pass(10);
    expect(previousOf(observer)).toEqual({ term: 1n, memberId: 'a', reason: 'resigned', vacantForMs: 1_234 });
  });

  it('is not shown by an observer that joined during the vacancy', async () => {
    const { world, leadership } = await led();
    await world.run(leadership.resign());
    const observer = world.observer();
    await world.run(observer.ready);
    await world.elect(world.member('b'));
    await world.pass(10);
    expect(previousOf(observer)).toEqual({ term: 1n, memberId: 'a', reason: 'resigned' });
  });

  it('is not shown if the view was unknown meanwhile', async () => {
    const { world, leadership } = await led();
    const store = world.connect();
    const observer = world.observer({}, store);
    await world.run(observer.ready);
    await world.run(leadership.resign());
    await world.pass(10);
    expect(observer.current.state).toBe('vacant');
    store.link.cutOff();
    await world.pass(5_000);
    expect(observer.current.state).toBe('unknown');
    store.link.heal();
    await world.until(() => observer.current.state === 'vacant');
    await world.elect(world.member('b'));
    await world.pass(10);
    expect(previousOf(observer)).toEqual({ term: 1n, memberId: 'a', reason: 'resigned' });
  });
});

it('an observer that was cut off shows how the last term before ended, and not those that it has missed', async () => {
  const { world, member, leadership } = await led();
  const store = world.connect();
  const observer = world.observer({}, store);
  await world.run(observer.ready);
  store.link.cutOff();
  await world.pass(5_000);
  await world.run(leadership.resign());
  await world.elect(world.member('b'));
  track(member.election(NAME).campaign());
  await world.pass(20);
  world.server.expireLease(world.leaseOf('b'));
  await world.pass(100);
  store.link.heal();
  await world.until(() => observer.current.state === 'leader');
  expect(leaderOf(observer)).toMatchObject({ term: 3n, memberId: 'a' });
  expect(previousOf(observer)).toEqual({ term: 2n, memberId: 'b', reason: 'expired' });
});

it('stays when the leader publishes', async () => {
  const { world, leadership, observer } = await observed();
  await world.run(leadership.resign());
  await world.pass(500);
  const next = await world.elect(world.member('b'));
  await world.run(next.publish('moved'));
  await world.pass(10);
  expect(leaderOf(observer)).toMatchObject({ value: 'moved', previous: { reason: 'resigned', vacantForMs: 500 } });
  expect(world.json(LEADER)?.['previous']).toEqual({ term: '1', memberId: 'a', reason: 'resigned' });
});

it('stays when the answer to the claim was lost, and the leader publishes', async () => {
  const { world, leadership } = await led();
  await world.run(leadership.resign());
  const store = world.connect();
  const member = world.member('b', {}, store);
  // The first swap of the member creates its key.
  await world.run(member.election('other').campaign());
  store.link.dropReplies(1, { operations: ['compareAndSwap'], how: 'reset' });
  const next = await world.elect(member);
  await world.run(next.publish('moved'));
  expect(world.json(LEADER)).toMatchObject({ value: 'moved', previous: { term: '1', memberId: 'a', reason: 'resigned' } });
});

describe('other versions', () => {
  const record = { v: 1, term: '7', memberId: 'm', incarnation: 'i', entry: 'e' };

  it.each([
    ['a record of an older version', {}],
    ['a field that is malformed', { previous: 'resigned' }],
    ['a term that is none', { previous: { term: '0', memberId: 'a', reason: 'resigned' } }],
    ['a reason that is none', { previous: { term: '6', memberId: 'a', reason: 5 } }],
  ])('%s shows the leader, and nothing about the term before', async (_, fields) => {
    const world = new World();
    world.put(LEADER, { ...record, ...fields });
    const observer = world.observer();
    await world.run(observer.ready);
    expect([leaderOf(observer).term, previousOf(observer)]).toEqual([7n, undefined]);
  });

  it('a term of an older version is shown as any other', async () => {
    const world = new World();
    world.put(TERM, { ...record, ended: { reason: 'resigned' } });
    await world.elect(world.member('a'));
    expect(world.json(LEADER)?.['previous']).toEqual({ term: '7', memberId: 'm', reason: 'resigned' });
  });

  it.each([
    ['a reason of a newer version', { ended: { reason: 'byFutureVote' } }, { memberId: 'm', reason: 'byFutureVote' }],
    ['a reason that is too long for the record', { ended: { reason: 'x'.repeat(10_000) } }, { memberId: 'm', reason: 'unknown' }],
    ['a member that is too long for the record', { memberId: 'x'.repeat(10_000) }, undefined],
  ])('%s keeps nobody from being elected', async (_, fields, previous) => {
    const world = new World({ maxValueBytes: 4_096 });
    world.put(TERM, { ...record, ...fields });
    expect((await world.elect(world.member('a'))).term).toBe(8n);
    expect(world.json(LEADER)?.['previous']).toEqual(previous && { term: '7', ...previous });
  });
});
