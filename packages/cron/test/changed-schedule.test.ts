/** What a deployment with another schedule of a job does to its missed slots. */

import { describe, expect, it } from 'vitest';
import type { Schedule } from '../src/index.ts';
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
  deploy(memberId: string, schedule: Schedule): CronProcess {
    const process = this.process(memberId);
    process.cron.add('report', schedule, (run) => this.note(memberId, run));
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

  it('has missed slots from the last one on if that is a slot of both schedules', async () => {
    await using fleet = new ReportFleet();
    const a = fleet.deploy('a', every(2 * HOUR_MS));
    await fleet.until(4.1);
    await fleet.cluster.run(a.member.close());
    await fleet.until(6.1);
    fleet.deploy('b', every(HOUR_MS));
    await fleet.until(6.2);
    expect(fleet.hours.at(-1)).toEqual(['b', 6, true]);
    expect(fleet.reports).toMatchObject([{ type: 'missed', from: new Date(START_MS + 5 * HOUR_MS), to: new Date(START_MS + 5 * HOUR_MS) }]);
  });
});
