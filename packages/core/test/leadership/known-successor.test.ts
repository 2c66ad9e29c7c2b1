/** A leader that has found its successor before its term ends. */

import type { Requests } from '@incumbent/memory';
import { describe, expect, it } from 'vitest';
import { byPriority, ElectionAdmin, type Leadership, type Member } from '../../src/index.ts';
import { after, behind, led, type Led } from '../support/led.ts';
import { track, type Tracked } from '../support/track.ts';
import { CANDIDATES, LEADER, NAME, TERM, TTL_MS, World, type WorldOptions } from '../support/world.ts';

/** Longer than a leader takes to look for its successor. */
const LOOKED_MS = 3_000;

interface Known extends Led {
  readonly next: Tracked<Leadership>;
  readonly nextMember: Member;
  /** Makes the known successor leave the queue. */
  readonly leave: () => Promise<void>;
  /** The requests since the leader has found its successor, without renewals. */
  readonly requests: () => Partial<Requests>;
}

/** A leader that knows that `b` is its successor. */
async function known(options: WorldOptions = {}): Promise<Known> {
  const made = await led(options);
  const { world } = made;
  const caller = new AbortController();
  const nextMember = world.member('b');
  const next = track(nextMember.election(NAME).campaign({ signal: caller.signal }));
  await world.pass(LOOKED_MS);
  const before = world.server.requests;
  const requests = (): Partial<Requests> => {
    const { renewLease: _, ...now } = world.server.requests;
    const changed = Object.entries(now).map(([name, count]) => [name, count - before[name as keyof Requests]] as const);
    return Object.fromEntries(changed.filter(([, count]) => count > 0));
  };
  const leave = async (): Promise<void> => {
    caller.abort();
    await world.pass(20);
  };
  return { ...made, next, nextMember, leave, requests };
}

const stores = [
  ['one swap', {}],
  ['one swap of one revision', { swapSharesRevision: true }],
  ['two steps', { assignableLease: false, revisionsSurviveDeletion: false }],
] as const;

const inOneSwap = stores.filter(([, options]) => !('assignableLease' in options));

describe.each(inOneSwap)('where a handover is %s, a leader that knows its successor', (_, options) => {
  it.each([
    ['resigns', 'resigned', ({ leadership }: Led) => leadership.resign()],
    ['hands over', 'handover', ({ leadership }: Led) => leadership.handover()],
    ['shuts down', 'handover', ({ member }: Led) => member.shutdown()],
  ])('%s in one request, after which the successor leads without any', async (name, reason, end) => {
    const made = await known(options);
    const { world, next, requests } = made;
    await world.run(end(made));
    await world.pass(5);
    expect([next.value?.term, next.value?.isValid()]).toEqual([2n, true]);
    expect(requests()).toEqual(name === 'shuts down' ? { compareAndSwap: 1, revokeLease: 1 } : { compareAndSwap: 1 });
    expect(world.json(LEADER)).toMatchObject({ memberId: 'b', term: '2', previous: { term: '1', memberId: 'a', reason } });
    await world.close();
    world.expectNothingLeft();
  });

  it('steps down in one request', async () => {
    const { world, next, leadership } = await known(options);
    await world.run(new ElectionAdmin(world.connect(), NAME).stepDown(1n));
    await world.pass(TTL_MS);
    expect([next.value?.term, (await leadership.ended).reason]).toEqual([2n, 'steppedDown']);
    expect(world.json(LEADER)).toMatchObject({ previous: { reason: 'steppedDown' } });
  });

  it('resigns to the next one if that one has left', async () => {
    const { world, leadership, next, leave } = await known(options);
    const third = await behind(world, 'c');
    await leave();
    await world.run(leadership.resign());
    await world.pass(20);
    expect([next.state, third.value?.term]).toEqual(['rejected', 2n]);
    expect(await leadership.ended).toMatchObject({ reason: 'resigned', lost: false });
    expect(world.json(LEADER)).toMatchObject({ memberId: 'c', previous: { reason: 'resigned' } });
  });

  it('resigns to that one if it has left and joined again', async () => {
    const { world, leadership, nextMember, leave } = await known(options);
    await leave();
    const again = track(nextMember.election(NAME).campaign());
    await world.pass(20);
    await world.run(leadership.resign());
    await world.pass(20);
    expect([again.value?.term, again.value?.isValid()]).toEqual([2n, true]);
  });

  it('resigns if that one has left, and nobody else waits', async () => {
    const { world, leadership, leave } = await known(options);
    await leave();
    await world.run(leadership.resign());
    expect(world.json(TERM)).toMatchObject({ term: '1', ended: { reason: 'resigned' } });
    expect([world.json(LEADER), world.queue()]).toEqual([undefined, []]);
  });

  it('resigns if the answer is lost', async () => {
    const { world, store, leadership, next } = await known(options);
    store.link.dropReplies(1, { operations: ['compareAndSwap'], how: 'reset' });
    await world.run(leadership.resign());
    await world.pass(20);
    expect([next.value?.term, next.value?.isValid(), world.queue()]).toEqual([2n, true, ['b']]);
  });

  it('gives the term to an entry that nobody campaigns with, if that one is first: the term ends with its lease', async () => {
    const { world, store, leadership } = await led(options);
    const at = { monotonicMs: world.clock.monotonic(), wallMs: world.clock.wall() };
    const { id } = await world.run(store.grantLease(TTL_MS, { at }));
    await world.run(store.enqueue(CANDIDATES, 'w~i~1~fifo~', new TextEncoder().encode('{"v":1}'), id));
    const next = await behind(world, 'b');
    await world.pass(LOOKED_MS);
    await world.run(leadership.resign());
    await world.pass(2 * TTL_MS);
    expect(next.value?.term).toBe(3n);
  });
});

describe.each(stores)('where a handover is %s, a leader that knows its successor', (_, options) => {
  it('hands over without a look at the queue', async () => {
    const { world, leadership, next, requests } = await known(options);
    await world.run(leadership.handover());
    await world.pass(20);
    expect([next.value?.term, requests().list]).toEqual([2n, undefined]);
  });

  it('looks where another one is named', async () => {
    const { world, leadership, next } = await known(options);
    const third = await behind(world, 'c');
    await world.run(leadership.handover('c'));
    await world.pass(20);
    expect([next.state, third.value?.term]).toEqual(['pending', 2n]);
  });

  it('leads on if that one is named and has left, although another one waits', async () => {
    const { world, leadership, leave } = await known(options);
    const third = await behind(world, 'c');
    await leave();
    await expect(world.run(leadership.handover('b'))).rejects.toMatchObject({ code: 'NO_SUCH_CANDIDATE' });
    expect([leadership.isValid(), third.state]).toEqual([true, 'pending']);
  });

  it.each([
    ['it is named', ({ leadership }: Led): Promise<unknown> => leadership.handover('b')],
    ['an operator names it', ({ world }: Led): Promise<unknown> => new ElectionAdmin(world.connect(), NAME).requestHandover(1n, 'b')],
  ])('hands over to that one if %s and it has joined again behind another one', async (_name, hand) => {
    const made = await known(options);
    const { world, nextMember, leave } = made;
    const third = await behind(world, 'c');
    await leave();
    const again = track(nextMember.election(NAME).campaign());
    await world.pass(20);
    await world.run(hand(made));
    // The drain of an operator's handover takes its whole time, as untracked work may run.
    await world.pass(TTL_MS);
    expect([again.value?.term, third.state]).toEqual([2n, 'pending']);
  });

  it('hands over to the next one if that one has left', async () => {
    const { world, leadership, leave } = await known(options);
    const third = await behind(world, 'c');
    await leave();
    await world.run(leadership.handover());
    await world.pass(20);
    expect([third.value?.term, (await leadership.ended).reason]).toEqual([2n, 'handover']);
  });

  it('has resigned if that one has left, and nobody else waits: the handover rejects with HANDOVER_FAILED', async () => {
    const { world, leadership, leave } = await known(options);
    await leave();
    await expect(world.run(leadership.handover())).rejects.toMatchObject({ code: 'HANDOVER_FAILED', details: { memberId: 'b' } });
    expect(world.json(TERM)).toMatchObject({ term: '1', ended: { reason: 'handoverFailed' } });
    expect([world.json(LEADER), world.queue()]).toEqual([undefined, []]);
  });

  it('rejects a handover whose signal has aborted, and leads on', async () => {
    const { world, leadership } = await known(options);
    const signal = AbortSignal.abort(new Error('no more'));
    await expect(world.run(leadership.handover(undefined, { signal }))).rejects.toThrow('no more');
    expect(leadership.isValid()).toBe(true);
  });
});

describe('a leader', () => {
  it('looks for no successor in advance where a later candidate may go before an earlier one', async () => {
    const world = new World();
    const options = { succession: byPriority(1) };
    const leadership = await world.run(world.member('a').election(NAME, options).campaign());
    const low = track(world.member('b').election(NAME, options).campaign());
    await world.pass(LOOKED_MS);
    const before = world.server.requests.list;
    await world.pass(100 * TTL_MS);
    expect(world.server.requests.list).toBe(before);
    const high = track(
      world
        .member('c')
        .election(NAME, { succession: byPriority(2) })
        .campaign(),
    );
    await world.pass(LOOKED_MS);
    await world.run(leadership.handover());
    await world.pass(20);
    expect([low.state, high.value?.term]).toEqual(['pending', 2n]);
  });

  it('finds a candidate that joins later, within a minute', async () => {
    const { world, leadership } = await led();
    await world.pass(30 * TTL_MS);
    await behind(world, 'b');
    await world.pass(60_000);
    const before = world.server.requests.list;
    await world.run(leadership.handover());
    expect(world.server.requests.list).toBe(before);
  });

  it('goes on leading where the look fails', async () => {
    const { world, store, leadership } = await led();
    store.link.dropRequests(1, { operations: ['list'] });
    const next = await behind(world, 'b');
    await world.pass(5 * TTL_MS);
    expect(leadership.isValid()).toBe(true);
    await world.run(leadership.resign());
    await world.pass(20);
    expect(next.value?.term).toBe(2n);
  });
});

describe('shutdown', () => {
  it.each([
    ['in one swap', {}],
    ['in two steps', { assignableLease: false, revisionsSurviveDeletion: false }],
  ] as const)('looks for a successor while the work drains, and hands over %s', async (_, options) => {
    const { world, member, leadership } = await led(options);
    const next = await behind(world, 'b');
    leadership.waitUntil(after(world, 700));
    const before = world.server.requests;
    const stopped = track(member.shutdown());
    await world.pass(600);
    const during = world.server.requests;
    expect([during.list - before.list, during.compareAndSwap - before.compareAndSwap]).toEqual([1, 0]);
    expect(leadership.isValid()).toBe(false);
    await world.pass(200);
    expect([next.value?.term, stopped.state]).toEqual([2n, 'resolved']);
    expect(world.server.requests.list).toBe(during.list);
  });

  it('resigns where the look fails', async () => {
    const { world, store, member } = await led();
    const next = await behind(world, 'b');
    store.link.dropRequests(1, { operations: ['list'] });
    await world.run(member.shutdown());
    await world.pass(20);
    expect(next.value?.term).toBe(2n);
  });
});
