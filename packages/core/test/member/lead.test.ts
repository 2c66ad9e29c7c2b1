import { describe, expect, it } from 'vitest';
import { Fence, type Leadership, type LeadershipEnd, StoreError } from '../../src/index.ts';
import { led } from '../support/led.ts';
import { quiet, track } from '../support/track.ts';
import { LEADER, NAME, TERM, TTL_MS, World } from '../support/world.ts';

/** Work that runs until its leadership ends, and records its terms. */
function untilAborted(terms: bigint[] = []): (leadership: Leadership) => Promise<void> {
  return async ({ term, ended }) => {
    terms.push(term);
    await ended;
  };
}

describe('lead', () => {
  it('takes leadership up again after a loss, with a new term, and tells the work in between', async () => {
    const world = new World();
    const terms: bigint[] = [];
    const reasons: unknown[] = [];
    const election = world.member('a').election(NAME);
    const leading = track(
      election.lead(async ({ term, signal, ended }) => {
        terms.push(term);
        await ended;
        reasons.push(signal.reason);
      }),
    );
    await world.pass(100);
    world.server.expireLease(world.leaseOf('a'));
    await world.pass(TTL_MS);
    expect([leading.state, terms]).toEqual(['pending', [1n, 2n]]);
    expect(reasons).toMatchObject([{ code: 'LEADERSHIP_ENDED', details: { lost: true, term: 1n } }]);
  });

  it('campaigns again after a handover', async () => {
    const world = new World();
    const terms: bigint[] = [];
    const election = world.member('a').election(NAME);
    track(election.lead(untilAborted(terms)));
    await world.pass(100);
    const other = world.member('b').election(NAME).campaign();
    await world.pass(100);
    await world.run(election.leadership!.handover('b'));
    const successor = await world.run(other);
    await world.pass(100);
    await world.run(successor.resign());
    await world.pass(100);
    expect(terms).toEqual([1n, 3n]);
  });

  it('resolves with what the work returns, after it has resigned', async () => {
    const world = new World();
    const leading = world
      .member('a')
      .election(NAME)
      .lead(() => 'done');
    expect(await world.run(leading)).toBe('done');
    expect(world.server.keys()).toEqual(['members/a', TERM]);
    expect(world.json(TERM)).toMatchObject({ term: '1', ended: { reason: 'resigned' } });
  });

  it('resolves with undefined where the work returns nothing, and does not lead on', async () => {
    const world = new World();
    let runs = 0;
    const leading = world
      .member('a')
      .election(NAME)
      .lead(() => {
        runs += 1;
      });
    expect(await world.run(leading)).toBeUndefined();
    await world.pass(1_000);
    expect(runs).toBe(1);
  });

  it('resolves with what the work returns after it has resigned by itself', async () => {
    const world = new World();
    const leading = world
      .member('a')
      .election(NAME)
      .lead(async (leadership) => {
        await leadership.resign();
        return 'resigned';
      });
    expect(await world.timed(leading)).toBeLessThan(10);
    expect(await leading).toBe('resigned');
  });

  it.each(['throws', 'rejects'])('rejects with what the work %s, after it has resigned', async (how) => {
    const world = new World();
    const failure = new Error('the work failed');
    const leading = world
      .member('a')
      .election(NAME)
      .lead(() => {
        if (how === 'rejects') return Promise.reject(failure);
        throw failure;
      });
    await expect(world.run(leading)).rejects.toBe(failure);
    expect(world.json(LEADER)).toBeUndefined();
  });

  it('ends the leadership with the reason `workFailed` if the work throws', async () => {
    const world = new World();
    const error = new TypeError('no such table');
    const ends: LeadershipEnd[] = [];
    const onEnded = (end: LeadershipEnd): void => void ends.push(end);
    const leading = world
      .member('a')
      .election(NAME, { onEnded })
      .lead(() => Promise.reject(error));
    await expect(world.run(leading)).rejects.toBe(error);
    expect(ends).toMatchObject([{ reason: 'workFailed', lost: false, error }]);
    expect(world.json(TERM)?.['ended']).toEqual({ reason: 'workFailed' });
    expect(world.events.about('ended')).toMatchObject([{ why: 'because its work failed: TypeError: no such table' }]);
  });

  it('tells of work that fails after its leadership was lost, and goes on', async () => {
    const world = new World();
    let runs = 0;
    const election = world.member('a').election(NAME);
    const leading = track(
      election.lead(async ({ ended }) => {
        runs += 1;
        await ended;
        throw new Error('could not stop cleanly');
      }),
    );
    await world.pass(100);
    world.server.deleteKey(LEADER);
    await world.pass(TTL_MS);
    expect([leading.state, runs]).toEqual(['pending', 2]);
    expect(world.events.about('the work failed')).toMatchObject([
      { err: { message: 'could not stop cleanly' }, term: '1', campaignsAgain: true },
    ]);
  });

  it('announces no campaign after a failure of the work at which `retry` aborts the signal', async () => {
    const world = new World();
    const stop = new AbortController();
    const retry = (): boolean => {
      stop.abort(new Error('enough'));
      return true;
    };
    const leading = world
      .member('a')
      .election(NAME)
      .lead(() => Promise.reject(new Error('no paper')), { signal: stop.signal, retry });
    await expect(world.run(leading)).rejects.toThrow('enough');
    expect(world.events.about('the work failed')).toMatchObject([{ campaignsAgain: false }]);
  });

  it('takes the reason of its own signal, thrown by the work, for no failure', async () => {
    const world = new World();
    const election = world.member('a').election(NAME);
    track(
      election.lead(async ({ signal, ended }) => {
        await ended;
        signal.throwIfAborted();
      }),
    );
    await world.pass(100);
    world.server.deleteKey(LEADER);
    await world.pass(TTL_MS);
    expect(world.events.about('the work failed')).toEqual([]);
  });

  it('aborted, tells the work, waits for its drain, resigns, and rejects with the reason', async () => {
    const world = new World();
    const caller = new AbortController();
    let stoppedAt = 0;
    const election = world.member('a').election(NAME);
    const leading = track(
      election.lead(
        async ({ ended }) => {
          await ended;
          await new Promise<void>((resolve) => {
            world.clock.schedule(300, resolve);
          });
          expect(world.json(LEADER)).toMatchObject({ term: '1' });
          stoppedAt = world.clock.monotonic();
        },
        { signal: caller.signal },
      ),
    );
    await world.pass(100);
    caller.abort(new Error('enough'));
    await world.pass(299);
    expect([leading.state, stoppedAt]).toEqual(['pending', 0]);
    await world.pass(10);
    expect(leading.error).toMatchObject({ message: 'enough' });
    expect(world.json(TERM)).toMatchObject({ ended: { reason: 'resigned' } });
  });

  it.each([
    ['aborts its caller', 'rejected'],
    ['closes its member', 'resolved'],
  ])('waits for work that %s in its first breath', async (how, state) => {
    const world = new World();
    const caller = new AbortController();
    const member = world.member('a');
    let recordAtStop: unknown;
    const leading = track(
      member.election(NAME).lead(
        async ({ ended }) => {
          if (how === 'closes its member') void member.close();
          else caller.abort(new Error('enough'));
          await ended;
          await new Promise<void>((resolve) => {
            world.clock.schedule(300, resolve);
          });
          recordAtStop = world.json(LEADER);
        },
        { signal: caller.signal },
      ),
    );
    await world.pass(200);
    expect(leading.state).toBe('pending');
    await world.pass(200);
    expect([leading.state, recordAtStop]).toMatchObject([state, { term: '1' }]);
  });

  it('aborted while stuck work keeps it from campaigning again, rejects with the reason', async () => {
    const world = new World();
    const caller = new AbortController();
    const election = world.member('a').election(NAME);
    const leading = track(election.lead(() => new Promise(() => {}), { signal: caller.signal }));
    await world.pass(100);
    world.server.deleteKey(LEADER);
    await world.pass(TTL_MS);
    expect(world.events.about('did not stop').length).toBe(1);
    expect([leading.state, world.queue()]).toEqual(['pending', []]);
    caller.abort(new Error('enough'));
    await world.pass(100);
    expect(leading.error).toMatchObject({ message: 'enough' });
  });

  it('whose member closes while stuck work keeps it from campaigning again, resolves', async () => {
    const world = new World();
    const member = world.member('a');
    const leading = track(member.election(NAME).lead(() => new Promise(() => {})));
    await world.pass(100);
    world.server.deleteKey(LEADER);
    await world.pass(TTL_MS);
    await world.run(member.close());
    await world.pass(100);
    expect(leading).toEqual({ state: 'resolved', value: undefined });
    world.expectNothingLeft();
  });

  it.each([undefined, 5, {}])('refuses work that is no function: %s', async (work) => {
    const election = new World().member('a').election(NAME);
    await expect(Reflect.apply(election.lead, election, [work])).rejects.toMatchObject({ code: 'INVALID_OPTION' });
    await expect(Reflect.apply(election.campaign, election, [{ signal: 5 }])).rejects.toMatchObject({ code: 'INVALID_OPTION' });
  });
});

describe('the work of lead', () => {
  it.each(Array.from({ length: 16 }, (_, turns) => turns))(
    'never begins work that was given up before, %i turns after the election',
    async (turns) => {
      const world = new World();
      const aborter = new AbortController();
      const abort = async (): Promise<void> => {
        for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
        aborter.abort(new Error('enough'));
      };
      const nothing = (): void => {};
      const info = (_: object, text: string): void => void (text === 'elected' && abort());
      const member = world.member('a', { logger: { debug: nothing, warn: nothing, error: nothing, info } }, world.connect());
      const begun: boolean[] = [];
      const work = async (leadership: Leadership): Promise<void> => {
        begun.push(leadership.isValid());
        await leadership.ended;
      };
      await expect(world.run(member.election(NAME).lead(work, { signal: aborter.signal }))).rejects.toThrow('enough');
      expect(begun).not.toContain(false);
      await world.close();
    },
  );

  it('does not campaign again, whoever asks, before the work that is stuck has settled', async () => {
    const world = new World();
    const election = world.member('a').election(NAME);
    const aborter = new AbortController();
    const stuck = Promise.withResolvers<void>();
    const first = quiet(election.lead(() => stuck.promise, { signal: aborter.signal }));
    await world.until(() => election.leadership !== undefined);
    aborter.abort(new Error('enough'));
    await world.pass(TTL_MS);
    await expect(first).rejects.toThrow('enough');
    const again = quiet(election.campaign());
    expect(await world.settles(again, 5 * TTL_MS)).toBe(false);
    stuck.resolve();
    expect(await world.settles(again, 100)).toBe(true);
    await world.close();
  });

  it('does not campaign again before what it passed to waitUntil has settled', async () => {
    const world = new World();
    const election = world.member('a').election(NAME);
    const stuck = Promise.withResolvers<void>();
    const terms: bigint[] = [];
    const leading = quiet(
      election.lead(async (leadership) => {
        terms.push(leadership.term);
        if (leadership.term > 1n) return leadership.ended;
        leadership.waitUntil(stuck.promise);
        throw new StoreError('UNAVAILABLE', 'notSent', 'not now');
      }),
    );
    await world.pass(5 * TTL_MS);
    expect([terms, world.queue(), world.json(LEADER)]).toEqual([[1n], [], undefined]);
    stuck.resolve();
    await world.until(() => terms.length > 1);
    expect(terms).toEqual([1n, 2n]);
    await world.close();
    await leading;
  });

  it('of a candidate that led by campaign before does not wait for what that passed to waitUntil', async () => {
    const { world, leadership, member } = await led();
    leadership.waitUntil(new Promise(() => {}));
    await world.run(leadership.resign());
    expect(await world.run(member.election(NAME).lead(({ term }) => term))).toBe(2n);
    await world.close();
  });

  it('does not wait for work that is over when a fence has ended its term', async () => {
    const world = new World();
    const fence = new Fence();
    fence.admit(90n);
    const stale = world.clock.monotonic() + 1_000;
    const ends: number[] = [];
    const member = world.member('a', { drainMs: TTL_MS / 4, callTimeoutMs: 200 }, world.connect());
    const leading = quiet(
      member.election(NAME).lead(async ({ term, ended }) => {
        ends.push(world.clock.monotonic());
        if (ends.length === 1) await new Promise<void>((resolve) => void world.clock.schedule(stale - world.clock.monotonic(), resolve));
        else await ended;
        fence.admit(term);
      }),
    );
    await world.until(() => ends.length > 1);
    expect(Number(ends[1]) - stale).toBeLessThan(100);
    await world.close();
    expect(await leading).toBeUndefined();
  });

  it('keeps the process alive while it waits for work that is stuck', async () => {
    const world = new World();
    const stuck = Promise.withResolvers<void>();
    const election = world.member('a').election(NAME);
    const leading = quiet(election.lead(() => stuck.promise));
    await world.until(() => election.leadership !== undefined);
    world.server.deleteKey(LEADER);
    await world.pass(TTL_MS);
    expect(world.clock.holds).toBeGreaterThan(0);
    stuck.resolve();
    await world
      .run(
        leading.catch(() => {}),
        10,
      )
      .catch(() => {});
    await world.close();
    expect(world.clock.holds).toBe(0);
  });
});
