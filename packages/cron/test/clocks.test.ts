/** Processes whose wall clocks differ: what they record, and what the next leader reports. */

import { type Clock, ElectionAdmin } from '@incumbent/core';
import { describe, expect, it, vi } from 'vitest';
import { FleetCron, type FleetCronOptions, NodeCronCoordinator } from '../src/index.ts';
import { type CronProcess, every, Fleet, START_MS } from './support/fleet.ts';

const HOUR_MS = 3_600_000;
const CALL = { timeoutMs: 1_000 };

/** The clock of a process whose wall clock is ahead by so much, or behind by a negative number. */
function aheadBy(fleet: Fleet, id: string, ms: () => number): Clock {
  const clock = fleet.clockOf(id);
  return {
    monotonic: () => clock.monotonic(),
    wall: () => clock.wall() + ms(),
    schedule: (delayMs, task) => clock.schedule(delayMs, task),
    keepAlive: () => clock.keepAlive(),
  };
}

/** A leader whose clock is ahead runs a few slots and crashes; then nobody leads. */
async function runAhead(fleet: Fleet, ms: number): Promise<void> {
  fleet.start('a', { clock: aheadBy(fleet, 'a', () => ms) });
  await fleet.cluster.advance(3_500);
  expect(fleet.seconds).toEqual([1, 2, 3].map((second) => second + ms / 1_000));
  fleet.cluster.crash('a');
  await fleet.cluster.advance(15_000);
}

const aheadReport = (second: number, byMs: number): unknown => ({
  type: 'ahead',
  job: 'tick',
  slot: new Date(START_MS + second * 1_000),
  byMs,
});

describe('a job whose last slot is far ahead of the clock of the leader', () => {
  it('is reported once by each leader, and runs no slot twice', async () => {
    await using fleet = new Fleet();
    await runAhead(fleet, HOUR_MS);
    fleet.start('b');
    await fleet.cluster.advance(600_000);
    expect(fleet.reports).toEqual([aheadReport(3_603, 3_584_500)]);
    fleet.cluster.crash('b');
    await fleet.cluster.advance(20_000);
    fleet.start('c');
    await fleet.cluster.advance(HOUR_MS);
    expect(fleet.reports).toEqual([aheadReport(3_603, 3_584_500), aheadReport(3_603, 2_964_500)]);
    expect(fleet.seconds.slice(0, 5)).toEqual([3_601, 3_602, 3_603, 3_604, 3_605]);
    expect(new Set(fleet.seconds).size).toBe(fleet.seconds.length);
  });

  it('is reported if it is new, and its first leader has run no slot of it', async () => {
    await using fleet = new Fleet();
    const start = (id: string, options: FleetCronOptions): CronProcess => {
      const process = fleet.process(id, options);
      process.cron.add('tick', every(HOUR_MS), (run) => fleet.note(id, run));
      void process.start();
      return process;
    };
    const first = start('a', { clock: aheadBy(fleet, 'a', () => HOUR_MS) });
    await fleet.cluster.advance(500);
    start('b', {});
    await fleet.cluster.run(first.member.close());
    await fleet.cluster.advance(HOUR_MS);
    expect(fleet.reports).toMatchObject([{ type: 'ahead', job: 'tick' }]);
    expect(fleet.runs).toEqual([]);
  });

  it('runs no slot up to that one, also if its schedule was changed meanwhile', async () => {
    await using fleet = new Fleet();
    await runAhead(fleet, HOUR_MS);
    const record = fleet.record('tick');
    const { cron, start } = fleet.process('b');
    cron.add('tick', { nextRun: (after) => new Date(Math.floor((after.getTime() + 500) / 1_000) * 1_000 + 500) }, () =>
      expect.unreachable(),
    );
    void start();
    await fleet.cluster.advance(60_000);
    expect(fleet.reports).toMatchObject([{ type: 'ahead', slot: new Date(START_MS + 3_603_000) }]);
    expect(fleet.record('tick')).toEqual(record);
  });

  it('is reported if the clock of the leader is set back during its term', async () => {
    await using fleet = new Fleet();
    let aheadMs = HOUR_MS;
    fleet.start('a', { clock: aheadBy(fleet, 'a', () => aheadMs) });
    await fleet.cluster.advance(3_500);
    aheadMs = 0;
    await fleet.cluster.advance(600_000);
    expect(fleet.reports).toMatchObject([{ type: 'ahead', job: 'tick', slot: new Date(START_MS + HOUR_MS + 3_000) }]);
  });

  it('runs again when its key has been deleted and the leader has resigned', async () => {
    await using fleet = new Fleet();
    await runAhead(fleet, HOUR_MS);
    fleet.start('b');
    await fleet.cluster.advance(1_500);
    const { store } = fleet.cluster.process('operator');
    const key = 'cron/cron/tick';
    const entry = await fleet.cluster.run(store.read(key, CALL));
    await fleet.cluster.run(store.compareAndSwap([{ key, expect: entry?.revision ?? '', delete: true }], CALL));
    await fleet.cluster.run(new ElectionAdmin(store, 'cron').stepDown(2n));
    await fleet.cluster.advance(3_000);
    expect(fleet.runs.slice(3)).toMatchObject([
      { second: 21, term: 3n },
      { second: 22, term: 3n },
      { second: 23, term: 3n },
    ]);
    expect(fleet.reports).toHaveLength(1);
  });

  it('is a warning of Node without onReport', async () => {
    const warning = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    await using fleet = new Fleet();
    await runAhead(fleet, HOUR_MS);
    const cron = new FleetCron(fleet.cluster.member('b').election('cron'), { clock: fleet.clockOf('b') });
    cron.add('tick', every(1_000), () => {});
    void cron.run();
    await fleet.cluster.advance(1_500);
    const { calls } = warning.mock;
    warning.mockRestore();
    expect(calls).toEqual([
      [
        'tick: the last slot, 2030-01-01T01:00:03.000Z, is 3585 s ahead of the clock of this process: the job does not run before that time',
        { type: 'CronWarning', code: 'INCUMBENT_CRON_AHEAD' },
      ],
    ]);
  });

  it('is not reported for a difference that clocks may have', async () => {
    await using fleet = new Fleet();
    await runAhead(fleet, 60_000);
    fleet.start('b');
    await fleet.cluster.advance(60_000);
    expect(fleet.reports).toEqual([]);
    expect(fleet.runs.at(-1)).toMatchObject({ by: 'b' });
  });

  it('is reported for a task of node-cron, when its next slot comes', async () => {
    await using fleet = new Fleet();
    await runAhead(fleet, HOUR_MS);
    const { cron, start } = fleet.process('b');
    const coordinator = new NodeCronCoordinator(cron);
    void start();
    await fleet.cluster.advance(1_500);
    for (const second of [20, 21]) {
      const asked = coordinator.shouldRun(`tick:${new Date(START_MS + second * 1_000).toISOString()}`);
      expect(await fleet.cluster.run(asked)).toBe(false);
    }
    expect(fleet.reports).toEqual([aheadReport(3_603, expect.any(Number))]);
  });

  it('is reported for a task of node-cron that is to report its missed slots', async () => {
    await using fleet = new Fleet();
    await runAhead(fleet, HOUR_MS);
    const { cron, start } = fleet.process('b');
    const coordinator = new NodeCronCoordinator(cron, { misfire: 'report' });
    const running = start();
    const asked = coordinator.shouldRun(`tick:${new Date(START_MS + 18_000).toISOString()}`);
    await fleet.cluster.advance(1_500);
    expect(await fleet.cluster.run(asked)).toBe(false);
    expect(fleet.reports).toEqual([aheadReport(3_603, expect.any(Number))]);
    void running;
  });
});

describe('a process whose clock is behind', () => {
  it('does not repeat slots', async () => {
    await using fleet = new Fleet();
    fleet.start('a');
    await fleet.cluster.advance(5_500);
    fleet.start('b', { clock: aheadBy(fleet, 'b', () => -3_000) });
    await fleet.cluster.advance(100);
    fleet.cluster.crash('a');
    await fleet.cluster.advance(10_000);
    expect(fleet.runs.at(-1)).toMatchObject({ by: 'b' });
    expect(fleet.seconds).toEqual([...new Set(fleet.seconds)].toSorted((x, y) => x - y));
  });

  it('says that its jobs wait if it is far behind', async () => {
    await using fleet = new Fleet();
    fleet.start('a');
    await fleet.cluster.advance(5_500);
    fleet.cluster.crash('a');
    await fleet.cluster.advance(10_000);
    fleet.start('b', { clock: aheadBy(fleet, 'b', () => -HOUR_MS) });
    await fleet.cluster.advance(10_000);
    expect(fleet.reports).toEqual([aheadReport(5, expect.any(Number))]);
    expect(fleet.seconds).toEqual([1, 2, 3, 4, 5]);
  });
});
