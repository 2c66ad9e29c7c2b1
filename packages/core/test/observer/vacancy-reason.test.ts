import { expect, it } from 'vitest';
import { ElectionAdmin, type VacancyReason } from '../../src/index.ts';
import { after, led, type Led } from '../support/led.ts';
import { track } from '../support/track.ts';
import { LEADER, NAME, TERM } from '../support/world.ts';

/** The reasons that the type names. It also allows every other string, for later versions. */
type Named<Reason> = Reason extends string ? (string extends Reason ? never : Reason) : never;

/**
 * The reasons that the leader `a` writes, and how the term of that leader ends for each of them.
 */
const ends: Readonly<
  Record<Exclude<Named<VacancyReason>, 'expired' | 'unknown' | 'neverLed' | 'termReset'>, (led: Led) => Promise<unknown>>
> = {
  resigned: ({ leadership }) => leadership.resign(),
  workFailed: ({ leadership }) => leadership.resignWhenDrained({ error: new Error('boom') }),
  memberClosed: ({ member }) => member.close(),
  handover: async ({ world, leadership }) => {
    track(world.member('b').election(NAME).campaign());
    await after(world, 20);
    await leadership.handover('b');
  },
  handoverFailed: async ({ world, leadership }) => {
    const caller = new AbortController();
    track(world.member('b').election(NAME).campaign({ signal: caller.signal }));
    await after(world, 20);
    leadership.waitUntil(after(world, 500));
    const handing = track(leadership.handover('b'));
    await after(world, 100);
    caller.abort();
    await after(world, 1_000);
    expect(handing.state).toBe('rejected');
  },
  steppedDown: ({ world }) => new ElectionAdmin(world.connect(), NAME).stepDown(1n),
  recordDeleted: async ({ world }) => world.server.deleteKey(LEADER),
  recordReplaced: async ({ world }) => {
    world.put(LEADER, { v: 1, term: '1', memberId: 'x', incarnation: 'i', entry: 'e' });
    await after(world, 2_000);
    world.server.deleteKey(LEADER);
  },
  entryDeleted: async ({ world }) => world.server.deleteKey(String(world.json(TERM)?.['entry'])),
  termBehind: async ({ leadership }) => leadership.reportTerm(7n),
};

/** An observer of a leader whose work takes 900 ms to stop. */
async function observed() {
  const { world, leadership } = await led();
  const observer = world.observer();
  await world.run(observer.ready);
  leadership.waitUntil(after(world, 900));
  return { world, leadership, observer };
}

it('an observer shows recordDeleted while the leader is still stopping', async () => {
  const { world, observer } = await observed();
  world.server.deleteKey(LEADER);
  await world.pass(100);
  expect([world.queue(), world.json(TERM)?.['ended']]).toEqual([['a'], undefined]);
  expect(observer.current).toEqual({ state: 'vacant', term: 1n, reason: 'recordDeleted' });
  await world.close();
});

it('an observer shows a leader that steps down until its work has stopped, and then steppedDown', async () => {
  const { world, leadership, observer } = await observed();
  await world.run(new ElectionAdmin(world.connect(), NAME).stepDown(1n));
  await world.pass(100);
  expect([leadership.isValid(), observer.current.state]).toEqual([false, 'leader']);
  await world.pass(1_000);
  expect(observer.current).toEqual({ state: 'vacant', term: 1n, reason: 'steppedDown' });
  await world.close();
});

it('an observer shows that a term expired if the lease ends while the leader is still stopping', async () => {
  const { world } = await observed();
  world.server.deleteKey(LEADER);
  await world.pass(100);
  world.server.expireLease(world.leaseOf('a'));
  const late = world.observer({}, world.connect());
  await world.run(late.ready);
  expect(late.current).toEqual({ state: 'vacant', term: 1n, reason: 'expired' });
  await world.close();
});

it.each(Object.entries(ends))('an observer shows that a term ended as %s', async (reason, end) => {
  const led_ = await led({ assignableLease: false });
  const { world } = led_;
  const reasons: unknown[] = [];
  world.observer().subscribe((view) => (view.state === 'vacant' ? reasons.push(view.reason) : undefined));
  await world.pass(100);
  await world.run(end(led_));
  // The reason is written after the drain. If `leader` was gone before, a later read shows it.
  await world.pass(20_000);
  expect(reasons).toContain(reason);
  await world.close();
});
