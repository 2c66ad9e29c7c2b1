/** Work that fails when its caller or its member has already told it to stop. */

import { describe, expect, it } from 'vitest';
import type { Election, Leadership, LeadOptions, Member } from '../../src/index.ts';
import { after } from '../support/led.ts';
import { track, type Tracked } from '../support/track.ts';
import { NAME, World } from '../support/world.ts';

type Work = (leadership: Leadership) => Promise<unknown>;

const calls: readonly [string, (election: Election, work: Work, options: LeadOptions) => Promise<unknown>][] = [
  ['lead', (election, work, options) => election.lead(work, options)],
  ['lead with once', (election, work, options) => election.lead(work, { once: true, ...options })],
  ['tryLead', (election, work, options) => election.tryLead(work, options)],
];

const stops: readonly [string, (member: Member, caller: AbortController) => unknown][] = [
  ['an abort', (_, caller) => caller.abort(new Error('enough'))],
  ['a close', (member) => member.close()],
  ['a shutdown', (member) => member.shutdown()],
];

interface Stopped {
  readonly world: World;
  readonly leading: Tracked<unknown>;
}

/** Leads, stops the work, and lets time pass. */
async function stopped(work: Work, lead = calls[0]![1], stop = stops[0]![1]): Promise<Stopped> {
  const world = new World();
  const caller = new AbortController();
  const member = world.member('a');
  const leading = track(lead(member.election(NAME), work, { signal: caller.signal }));
  await world.pass(100);
  void stop(member, caller);
  await world.pass(60_000);
  return { world, leading };
}

const failures = ({ world }: Stopped): unknown => world.events.about('the work failed');

describe.each(calls)('%s', (_, lead) => {
  it.each(stops)('tells of work that fails after %s in an event: the caller learns only of the stop', async (how, stop) => {
    const work: Work = async ({ ended }) => {
      await ended;
      throw new Error('could not flush');
    };
    const scene = await stopped(work, lead, stop);
    expect(failures(scene)).toMatchObject([{ election: NAME, term: '1', err: { message: 'could not flush' }, campaignsAgain: false }]);
    const end = how === 'an abort' ? { state: 'rejected', error: { message: 'enough' } } : { state: 'resolved', value: undefined };
    expect(scene.leading).toMatchObject(end);
    await scene.world.close();
    scene.world.expectNothingLeft();
  });
});

it.each([
  ['an object without a prototype', Object.create(null)],
  ['an error without text', Object.assign(new Error('x'), { toString: () => Symbol('x') })],
])('work that throws %s resigns, and another member leads', async (_, thrown: unknown) => {
  const world = new World();
  const work = async ({ signal }: Leadership): Promise<void> => {
    signal.throwIfAborted();
    throw thrown;
  };
  const leading = track(world.member('a').election(NAME).lead(work));
  const next = track(world.member('b').election(NAME).campaign());
  await world.pass(1_000);
  expect(leading.error === thrown).toBe(true);
  expect(next.state).toBe('resolved');
});

it.each(stops)('tells of work that outlives its drain, and fails long after %s', async (_, stop) => {
  const world = new World();
  const caller = new AbortController();
  const member = world.member('a');
  const work: Work = async ({ ended }) => {
    await ended;
    await after(world, 30_000);
    throw new Error('could not flush');
  };
  const leading = track(member.election(NAME).lead(work, { signal: caller.signal }));
  await world.pass(100);
  void stop(member, caller);
  await world.pass(20_000);
  expect([leading.state === 'pending', world.events.about('the work failed')]).toEqual([false, []]);
  await world.pass(20_000);
  expect(world.events.about('the work failed')).toMatchObject([{ err: { message: 'could not flush' }, campaignsAgain: false }]);
  await world.close();
});

it('tells of work that fails while it leads, if its caller aborts before the resignation is over', async () => {
  const world = new World();
  const store = world.connect({ latencyMs: 50 });
  const caller = new AbortController();
  const work: Work = async () => {
    setAbort();
    throw new Error('mine');
  };
  const setAbort = (): void => void world.clock.schedule(10, () => caller.abort(new Error('enough')));
  const leading = track(world.member('a', {}, store).election(NAME).lead(work, { signal: caller.signal }));
  await world.pass(5_000);
  expect(leading.error).toMatchObject({ message: 'enough' });
  expect(world.events.about('the work failed')).toMatchObject([{ err: { message: 'mine' }, campaignsAgain: false }]);
  await world.close();
});

describe('work that only passes on why it was stopped has not failed:', () => {
  it.each<[string, (leadership: Leadership) => unknown]>([
    ["the reason of the leadership's signal", ({ signal }) => signal.reason],
    ['an error that has it as the cause', ({ signal }) => new Error('interrupted', { cause: signal.reason })],
    ['an AbortError without it', () => new DOMException('This operation was aborted', 'AbortError')],
  ])('%s', async (_, thrown) => {
    const work: Work = async (leadership) => {
      await leadership.ended;
      throw thrown(leadership);
    };
    for (const [, stop] of stops) expect(failures(await stopped(work, calls[0]![1], stop))).toEqual([]);
  });

  it("the reason of the caller's signal", async () => {
    const work: Work = async ({ ended }) => {
      await ended;
      throw enough;
    };
    const enough = new Error('enough');
    expect(failures(await stopped(work, undefined, (_, caller) => caller.abort(enough)))).toEqual([]);
  });

  it('the error of a call that the close of the member has ended', async () => {
    const world = new World();
    const [member, other] = [world.member('a'), world.member('b')];
    await world.run(other.election('inner').campaign());
    void member.election(NAME).lead(() => member.election('inner').campaign());
    await world.pass(100);
    await world.run(member.close());
    await world.close();
    expect(world.events.about('the work failed')).toEqual([]);
  });
});
