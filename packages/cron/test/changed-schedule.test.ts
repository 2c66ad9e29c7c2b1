/** What a deployment with another schedule of a job does to its missed slots. */

import { describe, expect, it } from 'vitest';
import type { JobOptions, Schedule } from '../src/index.ts';
import { type CronProcess, every, Fleet, START_MS } from './support/fleet.ts';

/** An hour of these tests is shorter, so that a day passes quickly. */
const HOUR_MS = 20_000;

/** One slot a day, at this hour. */
function daily(hour: number): Schedule {
  const byDay = every(24 * HOUR_MS);
  const shifted = (date: Date, hours: number): Date => new Date(date.getTime() + hours * HOUR_MS);
  return { nextRun: (after) => shifted(byDay.nextRun(shifted(after, -hour)) ?? after, hour) };
}

class ReportFleet extends Fleet {
  /** A process whose one job has this schedule. */
  deploy(memberId: string, schedule: Schedule, options: JobOptions = {}): CronProcess {
    const process = this.process(memberId);
    process.cron.add('report', schedule, (run) => this.note(memberId, run), options);
    void process.start();
    return process;
  }

  /** Advances until this hour of the first day. */
  async until(hour: number): Promise<void> {
    await this.cluster.advance(START_MS + hour * HOUR_MS - this.clockOf('clock').wall());
  }

  /** The runs: who, at which hour of the first day. */
  get hours(): readonly (readonly [by: string, hour: number, isLate: boolean])[] {
    return this.runs.map(({ by, second, isLate }) => [by, (second * 1_000) / HOUR_MS, isLate]);
  }
}

describe('a job whose schedule was changed', () => {
  it('has no missed slots before the first leader with the new schedule', async () => {
    await using fleet = new ReportFleet();
    const a = fleet.deploy('a', daily(3));
    await fleet.until(10);
    await fleet.cluster.run(a.member.close());
    fleet.deploy('b', daily(5));
    await fleet.until(30);
    expect(fleet.hours).toEqual([
      ['a', 3, false],
      ['b', 29, false],
    ]);
    expect(fleet.reports).toEqual([]);
  });

  it('has missed slots from that leader on', async () => {
    await using fleet = new ReportFleet();
    const a = fleet.deploy('a', daily(3));
    await fleet.until(10);
    await fleet.cluster.run(a.member.close());
    fleet.deploy('b', daily(5));
    await fleet.until(11);
    fleet.cluster.crash('b');
    await fleet.until(30);
    fleet.deploy('c', daily(5));
    await fleet.until(31);
    expect(fleet.hours.at(-1)).toEqual(['c', 29, true]);
  });

  it('is not taken for changed if it counts from the last slot', async () => {
    await using fleet = new ReportFleet();
    const hourly: Schedule = { nextRun: (after) => new Date(after.getTime() + HOUR_MS) };
    fleet.deploy('a', hourly);
    await fleet.until(2.5);
    fleet.cluster.crash('a');
    await fleet.until(3.5);
    fleet.deploy('b', hourly);
    await fleet.until(3.9);
    expect(fleet.runs.map(({ by, isLate }) => [by, isLate])).toEqual([
      ['a', false],
      ['a', false],
      ['b', true],
    ]);
  });

  it('still has the reports about its former slots', async () => {
    await using fleet = new ReportFleet();
    const { cron, start } = fleet.process('a');
    cron.add('report', daily(3), async ({ signal }) => new Promise((resolve) => signal.addEventListener('abort', resolve)));
    void start();
    await fleet.until(10);
    fleet.cluster.crash('a');
    fleet.deploy('b', daily(5));
    await fleet.until(11);
    expect(fleet.runs).toEqual([]);
    expect(fleet.reports).toEqual([{ type: 'interrupted', job: 'report', slot: new Date(START_MS + 3 * HOUR_MS), term: 1n }]);
    expect(fleet.record('report')).toMatchObject({ term: '2', state: 'new' });
  });

  it('misses no slot of the new schedule if the last slot is one of both', async () => {
    await using fleet = new ReportFleet();
    const a = fleet.deploy('a', every(4 * HOUR_MS));
    await fleet.until(4.1);
    await fleet.cluster.run(a.member.close());
    await fleet.until(6.1);
    fleet.deploy('b', every(HOUR_MS));
    await fleet.until(7.1);
    expect(fleet.hours).toEqual([
      ['a', 4, false],
      ['b', 7, false],
    ]);
    expect(fleet.reports).toEqual([]);
  });

  it('misses the next slot of the former schedule, if no process claimed it', async () => {
    await using fleet = new ReportFleet();
    const a = fleet.deploy('a', daily(3));
    await fleet.until(10);
    await fleet.cluster.run(a.member.close());
    await fleet.until(28);
    fleet.deploy('b', daily(5));
    await fleet.until(30);
    expect(fleet.hours).toEqual([
      ['a', 3, false],
      ['b', 27, true],
      ['b', 29, false],
    ]);
    expect(fleet.reports).toEqual([]);
  });

  it('misses slots of the new schedule from then on, also if another process leads next', async () => {
    await using fleet = new ReportFleet();
    const a = fleet.deploy('a', every(4 * HOUR_MS));
    await fleet.until(4.1);
    await fleet.cluster.run(a.member.close());
    await fleet.until(9.1);
    const b = fleet.deploy('b', every(HOUR_MS));
    await fleet.until(9.5);
    await fleet.cluster.run(b.member.close());
    await fleet.until(12.1);
    fleet.deploy('c', every(HOUR_MS));
    await fleet.until(12.5);
    expect(fleet.hours).toEqual([
      ['a', 4, false],
      ['b', 8, true],
      ['c', 12, true],
    ]);
    const [from, to] = [10, 11].map((hour) => new Date(START_MS + hour * HOUR_MS));
    expect(fleet.reports).toEqual([{ type: 'missed', job: 'report', from, to }]);
  });

  it('reports that slot if no slot runs late', async () => {
    await using fleet = new ReportFleet();
    const a = fleet.deploy('a', daily(3));
    await fleet.until(10);
    await fleet.cluster.run(a.member.close());
    await fleet.until(28);
    fleet.deploy('b', daily(5), { misfire: 'report' });
    await fleet.until(30);
    expect(fleet.hours.slice(1)).toEqual([['b', 29, false]]);
    const missed = new Date(START_MS + 27 * HOUR_MS);
    expect(fleet.reports).toEqual([{ type: 'missed', job: 'report', from: missed, to: missed }]);
  });

  it('is changed before its first slot', async () => {
    await using fleet = new ReportFleet();
    const a = fleet.deploy('a', daily(8));
    await fleet.until(1);
    await fleet.cluster.run(a.member.close());
    await fleet.until(6);
    fleet.deploy('b', daily(5));
    await fleet.until(30);
    expect(fleet.hours).toEqual([['b', 29, false]]);
    expect(fleet.reports).toEqual([]);
  });

  it('begins again after a schedule that had ended', async () => {
    await using fleet = new ReportFleet();
    const once: Schedule = { nextRun: (after) => (after.getTime() < START_MS + HOUR_MS ? new Date(START_MS + HOUR_MS) : null) };
    const a = fleet.deploy('a', once);
    await fleet.until(2);
    await fleet.cluster.run(a.member.close());
    await fleet.until(4);
    fleet.deploy('b', daily(3));
    await fleet.until(28);
    expect(fleet.hours).toEqual([
      ['a', 1, false],
      ['b', 27, false],
    ]);
    expect(fleet.reports).toEqual([]);
  });

  it('is not taken for changed after a record of a version that knew no next slot', async () => {
    await using fleet = new ReportFleet();
    const { store } = fleet.cluster.process('other');
    const bytes = new TextEncoder().encode('{"v":1,"slot":"2030-01-01T00:00:00.000Z","term":"0","state":"finished"}');
    await fleet.cluster.run(store.compareAndSwap([{ key: 'cron/cron/report', expect: null, put: bytes }], { timeoutMs: 1_000 }));
    await fleet.until(4);
    fleet.deploy('a', daily(3));
    await fleet.until(5);
    expect(fleet.hours).toEqual([['a', 3, true]]);
  });
});
