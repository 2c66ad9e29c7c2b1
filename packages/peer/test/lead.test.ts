/** The work of `lead`: when it runs, and how its end ends the leadership. */

import { Fence } from '@incumbent/core';
import { describe, expect, it } from 'vitest';
import type { PeerLeadership } from '../src/index.ts';
import { Group as BestEffortGroup } from './best-effort/group.ts';
import { Group, logger } from './support.ts';

describe('lead', () => {
  it('runs the work while it leads, and campaigns again after a loss', async () => {
    await using group = new Group();
    const [a, b, c] = group.ids.map((id) => group.member(id));
    await Promise.all([b!.start(), c!.start()]);
    const terms: bigint[] = [];
    const led = a!.lead(async (leadership) => {
      terms.push(leadership.term);
      if (terms.length < 3) await leadership.ended;
      return terms.length;
    });
    await group.clock.advance(8_000);
    for (let i = 0; i < 2; i += 1) {
      group.network.isolate('a');
      await group.clock.advance(3_000);
      group.network.heal();
      await group.clock.advance(8_000);
    }
    expect(await group.clock.run(led)).toBe(3);
    expect(terms).toEqual(terms.toSorted((x, y) => Number(x - y)));
    expect(new Set(terms).size).toBe(3);
  });

  it('resigns when the work throws, with the reason workFailed and the error, and rejects with it', async () => {
    await using group = new Group(['a']);
    const error = new Error('the work');
    const log = logger();
    const ends: Promise<unknown>[] = [];
    const led = group.member('a', { logger: log }).lead(async ({ ended }) => {
      ends.push(ended);
      throw error;
    });
    await expect(group.clock.run(led)).rejects.toBe(error);
    expect(await ends[0]).toMatchObject({ reason: 'workFailed', lost: false, error });
    expect(log.lines.filter(({ message }) => message === 'leadership ended')).toMatchObject([
      { fields: { reason: 'workFailed', err: error } },
    ]);
  });

  it('does not blame work that throws after it has resigned, or after its caller has given up', async () => {
    await using group = new Group(['a']);
    const member = group.member('a');
    const caller = new AbortController();
    const ends: Promise<unknown>[] = [];
    const works: ((leadership: PeerLeadership<'quorum'>) => Promise<unknown>)[] = [
      async (leadership) => leadership.resign(),
      async ({ ended }) => {
        caller.abort(new Error('enough'));
        await ended;
      },
    ];
    for (const work of works) {
      const led = member.lead(
        async (leadership) => {
          ends.push(leadership.ended);
          await work(leadership);
          throw new Error('too late');
        },
        { signal: caller.signal },
      );
      await expect(group.clock.run(led)).rejects.toThrow(/too late|enough/);
    }
    expect(await Promise.all(ends)).toMatchObject([{ reason: 'resigned' }, { reason: 'resigned' }]);
  });

  it.each(['aborts', 'closes'])('tells of work that fails after its caller %s, in an event', async (how) => {
    await using group = new Group(['a']);
    const log = logger();
    const member = group.member('a', { logger: log });
    const caller = new AbortController();
    const works: ((leadership: PeerLeadership<'quorum'>) => unknown)[] = [
      () => new Error('could not flush'),
      (leadership) => leadership.signal.reason,
      () => caller.signal.reason ?? new DOMException('aborted', 'AbortError'),
    ];
    for (const thrown of how === 'aborts' ? works : works.slice(0, 1)) {
      const led = member.lead(
        async (leadership) => {
          if (how === 'aborts') caller.abort(new Error('enough'));
          else void member.close();
          await leadership.ended;
          throw thrown(leadership);
        },
        { signal: caller.signal },
      );
      await group.clock.run(led.catch(() => {}));
    }
    expect(log.lines.filter(({ message }) => message === 'the work failed')).toMatchObject([
      { fields: { err: { message: 'could not flush' }, campaignsAgain: false } },
    ]);
  });

  it('waits for work that aborts the signal of its caller at once', async () => {
    await using group = new Group(['a']);
    const caller = new AbortController();
    let stopped = false;
    const led = group.member('a').lead(
      async ({ ended }) => {
        caller.abort(new Error('enough'));
        await ended;
        await new Promise<void>((resolve) => void group.clock.schedule(20, resolve));
        stopped = true;
      },
      { signal: caller.signal },
    );
    await expect(group.clock.run(led)).rejects.toThrow('enough');
    expect(stopped).toBe(true);
  });

  it('by best effort, lets others lead first after its work has failed', async () => {
    await using group = new BestEffortGroup('bully', ['a', 'b']).lead('b');
    const a = group.member('a');
    await expect(group.clock.run(a.lead(() => Promise.reject(new Error('the work'))))).rejects.toThrow('the work');
    const campaign = a.campaign();
    campaign.catch(() => {});
    await group.clock.advance(6_000);
    expect(group.leaders).toEqual(['b']);
  });
});

describe('lead, whose work meets a fence that has seen a newer term,', () => {
  it('leads again, beyond the term that the fence has seen', async () => {
    await using group = new Group();
    const fence = new Fence({ highest: 50n });
    const admitted: bigint[] = [];
    const log = logger();
    const rejected: unknown[] = [];
    for (const id of group.ids) {
      const led = group.member(id, { logger: log }).lead(async ({ term, ended }) => {
        fence.admit(term);
        admitted.push(term);
        await ended;
      });
      led.catch((error: unknown) => rejected.push(error));
    }
    await group.clock.advance(20_000);
    expect(rejected).toEqual([]);
    expect(admitted.at(-1)).toBeGreaterThan(50n);
    const failed = log.lines.find(({ message }) => message === 'the work failed');
    expect(failed).toMatchObject({ fields: { err: { code: 'STALE_TERM' }, campaignsAgain: true } });
    const end = log.lines.find(({ message }) => message === 'leadership ended');
    expect(end).toMatchObject({ fields: { reason: 'termBehind', seenTerm: '50' } });
  });

  it('leads again beyond that term also if the work meets the fence only after another loss', async () => {
    await using group = new Group();
    const [a, b, c] = group.ids.map((id) => group.member(id));
    await Promise.all([b!.start(), c!.start()]);
    const terms: bigint[] = [];
    const leading = a!.lead(async ({ term, ended }) => {
      terms.push(term);
      await ended;
      new Fence({ highest: 50n }).admit(term);
    });
    leading.catch(() => {});
    await group.clock.advance(8_000);
    group.network.isolate('a');
    await group.clock.advance(3_000);
    group.network.heal();
    await group.clock.advance(8_000);
    expect(terms).toHaveLength(2);
    expect(terms[1]).toBeGreaterThan(50n);
  });

  it('resigns, and rejects with STALE_TERM, if the term that the fence has seen is too high to be true', async () => {
    await using group = new Group(['a']);
    const member = group.member('a');
    const leading = member.lead(({ term }) => new Fence({ highest: 2n ** 62n }).admit(term));
    await expect(group.clock.run(leading)).rejects.toMatchObject({ code: 'STALE_TERM' });
    expect(member.highestTerm).toBe(1n);
  });
});
