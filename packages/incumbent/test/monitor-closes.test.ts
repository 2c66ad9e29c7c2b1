import { describe, expect, it } from 'vitest';
import { withLock } from '../src/index.ts';
import { ABOUT, sceneOfEachTest } from './monitored.ts';

const begin = sceneOfEachTest();

describe('the metrics of a member that closes', () => {
  /** The names of the gauges of elections and leases. */
  const gauges = ['incumbent_leader', 'incumbent_stuck', 'incumbent_session_age_seconds'];

  it('keep their counters, and lose their gauges', async () => {
    const world = begin();
    await world.clock.run(world.member.election('jobs').campaign());
    await world.clock.run(world.member.close());
    expect(gauges.flatMap((name) => world.figures(name))).toEqual([]);
    expect(world.figures('incumbent_elected_total')).toEqual([`${ABOUT} 1`]);
  });

  it('lose their gauges also if it closes while it has no lease', async () => {
    const world = begin();
    await world.clock.run(world.member.election('jobs').campaign());
    world.store.link.cutOff();
    await world.clock.advance(20_000);
    expect(world.figures('incumbent_leader')).toEqual([`${ABOUT} 0`]);
    await world.clock.run(world.member.close());
    expect(gauges.flatMap((name) => world.figures(name))).toEqual([]);
  });

  it('show its work that continues until it stops', async () => {
    const world = begin();
    const work = Promise.withResolvers<void>();
    const leading = world.member
      .election('jobs')
      .lead(() => work.promise)
      .catch(() => {});
    await world.clock.advance(100);
    await world.clock.run(world.member.close());
    expect(world.figures('incumbent_stuck')).toEqual([`${ABOUT} 1`]);
    expect(world.monitor.health()).toMatchObject({ healthy: false, problems: [{ problem: 'stuck', election: 'jobs' }] });
    work.resolve();
    await world.clock.run(leading);
    expect(gauges.flatMap((name) => world.figures(name))).toEqual([]);
    expect(world.monitor.health().healthy).toBe(true);
  });

  it('count the locks of withLock as one member, however many there are', async () => {
    const world = begin();
    const sizes: number[] = [];
    for (let i = 0; i < 3; i += 1) {
      const work = (): Promise<void> => new Promise((resolve) => void world.clock.schedule(10_000, resolve));
      const locked = withLock(world.store, 'report', work, { clock: world.clock });
      await world.clock.advance(5_000);
      expect(world.figures('incumbent_leader')).toEqual([expect.stringMatching(/election="report",member="[^"]{12}"\} 1$/)]);
      await world.clock.run(locked);
      sizes.push(world.monitor.prometheus().split('\n').length);
    }
    expect(new Set(sizes).size).toBe(1);
    expect(gauges.flatMap((name) => world.figures(name))).toEqual([]);
    expect(world.figures('incumbent_elected_total')).toEqual(['{store="memory",election="report",member="lock"} 3']);
    expect(world.figures('incumbent_session_ended_total')).toEqual(['{store="memory",member="lock",reason="memberClosed"} 3']);
    expect(world.figures('incumbent_session_renewal_seconds_count')).toEqual([
      expect.stringMatching(/^\{store="memory",member="lock"\} \d+$/),
    ]);
  });

  it('leave nothing of a lock that was lost', async () => {
    const world = begin();
    const work = Promise.withResolvers<void>();
    const locked = withLock(world.store, 'report', () => work.promise, { clock: world.clock }).catch(() => {});
    await world.clock.advance(100);
    world.store.link.cutOff();
    await world.clock.advance(20_000);
    expect(world.monitor.health().problems).toMatchObject([{ problem: 'stuck', election: 'report' }]);
    work.resolve();
    await world.clock.run(locked);
    expect(gauges.flatMap((name) => world.figures(name))).toEqual([]);
    expect(world.figures('incumbent_ended_total')).toEqual([
      '{store="memory",election="report",member="lock",reason="deadline",lost="true"} 1',
    ]);
  });
});
