/** A few simulated processes, each with the same jobs, and a list of the runs of all of them. */

import type { Clock, Member } from '@incumbent/core';
import { TestCluster } from '@incumbent/memory';
import { type CronReport, type CronRun, FleetCron, type FleetCronOptions, type Schedule } from '../../src/index.ts';

/** The wall clock of a `TestCluster` at its start. */
export const START_MS: number = Date.UTC(2030, 0, 1);

/** The simulator forbids the global `Date` while a world runs. */
const SlotDate = Date;

/** One slot every so many ms, from the epoch on. */
export function every(ms: number): Schedule {
  return { nextRun: (after) => new SlotDate((Math.floor(after.getTime() / ms) + 1) * ms) };
}

/** When it was, in seconds since the start of the cluster. */
export function secondsOf(date: Date): number {
  return (date.getTime() - START_MS) / 1_000;
}

/** A run, as the tests compare it. */
export interface Ran {
  readonly by: string;
  readonly job: string;
  readonly second: number;
  readonly term: bigint;
  readonly isLate: boolean;
}

export interface CronProcess {
  readonly cron: FleetCron;
  readonly member: Member;
  /** Calls `run`. Rejects as it does. */
  start(): Promise<void>;
}

export class Fleet implements AsyncDisposable {
  readonly cluster: TestCluster = new TestCluster();
  readonly runs: Ran[] = [];
  readonly reports: CronReport[] = [];

  /** A process with no jobs yet. */
  process(memberId: string, options: FleetCronOptions = {}): CronProcess {
    const member = this.cluster.member(memberId, { ttlMs: 5_000 });
    const onReport = (report: CronReport): unknown => this.reports.push(report);
    const cron = new FleetCron(member.election('cron'), { onReport, clock: this.clockOf(memberId), ...options });
    return { cron, member, start: () => cron.run() };
  }

  /** A process whose one job has a slot each second and notes its runs. It runs at once. */
  start(memberId: string, options: FleetCronOptions = {}, work: (run: CronRun) => unknown = () => {}): CronProcess {
    const started = this.process(memberId, options);
    started.cron.add('tick', every(1_000), (run) => {
      this.note(memberId, run);
      return work(run);
    });
    void started.start();
    return started;
  }

  /** The clock of a process. */
  clockOf(memberId: string): Clock {
    return this.cluster.process(memberId).options.clock;
  }

  note(by: string, { job, slot, term, isLate }: CronRun): void {
    this.runs.push({ by, job, second: secondsOf(slot), term, isLate });
  }

  /** The slots that have run, in seconds. */
  get seconds(): readonly number[] {
    return this.runs.map(({ second }) => second);
  }

  /** What the store holds about a job. */
  record(job: string): unknown {
    const entry = this.cluster.server.entries().find(({ key }) => key === `cron/cron/${job}`);
    return entry === undefined ? undefined : JSON.parse(new TextDecoder().decode(entry.value));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.cluster.close();
  }
}
