/** For `cron`, and for `@nestjs/schedule`, which is built on it. */

import { checkFunction, invalidOption, invalidText } from '@incumbent/core/adapter';
import type { FleetCron, JobOptions } from './fleet-cron.ts';
import { dateOf, type Schedule, type SlotMs } from './schedule.ts';

/** The part of a `DateTime` of luxon, which cron returns, that a schedule needs. */
export interface ZonedTime {
  toMillis(): number;
  toJSDate(): Date;
  /** What the wall clock of the zone is ahead of UTC, in minutes. */
  readonly offset: number;
  minus(duration: { readonly hours: number }): { readonly offset: number };
}

/** The part of a `CronTime` of cron 4 that a schedule needs. */
export interface CronTimeLike {
  readonly timeZone?: string | undefined;
  readonly utcOffset?: number | undefined;
  readonly realDate: boolean;
  getNextDateFrom(start: Date, timeZone?: string): ZonedTime;
}

/** The part of a `CronJob` of cron 4 that `addCronJobs` needs. */
export interface CronJobLike {
  readonly cronTime: CronTimeLike;
  waitForCompletion: boolean;
  readonly isCallbackRunning?: boolean;
  errorHandler?: ((error: unknown) => void) | null | undefined;
  stop(): unknown;
  fireOnTick(): Promise<void>;
}

/** For this long after the clocks went back, a slot is checked. Such a change is 2 h at most. */
const CHECKED_HOURS = 3;

const HOUR_MS = 3_600_000;

/** How far to go on where cron returns a time that has passed, in ms. */
const STEP_MS = 60_000;

/**
 * The schedule of a `CronTime` of cron: `cronSchedule(new CronTime('0 3 * * *', 'Europe/Berlin'))`.
 *
 * On the night when the clocks go back, cron 4.4 adds a slot an hour before that of some daily
 * jobs, has the times of some jobs once more if it is asked from within the hour that comes twice,
 * and in a zone that changes by half an hour returns times that have passed. The schedule leaves
 * these out. In a zone that changes by two hours (Antarctica/Troll), times may still come twice.
 *
 * @throws `INVALID_OPTION` for anything but a `CronTime` of a cron expression.
 */
export function cronSchedule(time: CronTimeLike): Schedule {
  if (typeof time !== 'object' || time === null) throw invalidOption('time', time, "a CronTime of cron: new CronTime('0 3 * * *')");
  checkFunction('time.getNextDateFrom', time.getNextDateFrom);
  if (time.realDate) throw invalidOption('time', time, 'a cron expression: a single date is no schedule');
  const zone = time.utcOffset === undefined ? time.timeZone : offsetZone(time.utcOffset);
  return {
    nextRun: (after) => {
      for (let from = after.getTime(); ;) {
        const next = time.getNextDateFrom(dateOf(from), zone);
        const slot = next.toMillis();
        if (slot > after.getTime() && !isExtra(time, slot, next) && !isRepeated(time, slot, next, zone)) return next.toJSDate();
        from = Math.max(slot, from + STEP_MS);
      }
    },
  };
}

/** Whether the clocks went back shortly before, and the expression does not have this time. */
function isExtra(time: CronTimeLike, slot: SlotMs, zoned: ZonedTime): boolean {
  if (zoned.minus({ hours: CHECKED_HOURS }).offset <= zoned.offset) return false;
  // The time on the wall clock as if it were UTC, where the clocks never change.
  const wall = slot + zoned.offset * 60_000;
  return time.getNextDateFrom(dateOf(wall - 1_000), 'UTC').toMillis() !== wall;
}

/**
 * Whether the clocks went back an hour within the last hour, and cron has this time only if it is
 * asked from within the hour that comes twice. Asked from just before the clocks went back, it
 * passes over this one, as it runs a daily job once. A schedule must not depend on when it is
 * asked: otherwise the search for the latest slot finds one that no other search finds.
 */
function isRepeated(time: CronTimeLike, slot: SlotMs, zoned: ZonedTime, zone: string | undefined): boolean {
  if (zoned.minus({ hours: 1 }).offset - zoned.offset !== 60) return false;
  // The clocks go back by an hour at a full hour of the wall clock.
  const changeMs = slot - ((slot + zoned.offset * 60_000) % HOUR_MS);
  return time.getNextDateFrom(dateOf(changeMs - 1_000), zone).toMillis() > slot;
}

/** The zone of an offset in minutes, in the words of luxon: `UTC+05:30`. */
function offsetZone(minutes: number): string {
  const pad = (part: number): string => String(part).padStart(2, '0');
  const absolute = Math.abs(minutes);
  return `UTC${minutes < 0 ? '-' : '+'}${pad(Math.trunc(absolute / 60))}:${pad(absolute % 60)}`;
}

/** The name that `@nestjs/schedule` gives to a job without one. It differs in each process. */
const RANDOM_NAME = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

/**
 * Takes jobs of cron over by their names, such as all jobs with `@Cron` of a NestJS application:
 * `addCronJobs(cron, schedulerRegistry.getCronJobs())`. Stops the timer of each job, so that it
 * runs only as a job of the fleet's cron, and makes its callbacks awaited (`waitForCompletion`).
 * Jobs that are to run in every process must be left out. cron calls `onComplete` of a job when its
 * timer stops, so it is called here, in every process.
 *
 * In a callback, `FleetCron.currentRun` has the slot, the term and the signal. `@nestjs/schedule`
 * logs an error of a method itself, so such a run counts as finished. So does a command in place of
 * a callback, as soon as it has started: start it in a callback that waits for its end. A slot at
 * which the callback still runs because of `runOnInit` or `fireOnTick()` is reported as failed.
 *
 * @throws As `cron.add` does. `INVALID_OPTION` for a job of `@Cron` without a `name`, whose random
 *   name differs in each process. The jobs before it have been taken over.
 */
export function addCronJobs(cron: FleetCron, jobs: Iterable<readonly [name: string, job: CronJobLike]>, options: JobOptions = {}): void {
  for (const [name, job] of jobs) {
    if (RANDOM_NAME.test(name)) throw invalidText('job', name, 'a name that is the same in each process: @Cron(expression, { name })');
    const callbacks = new JobCallbacks(job);
    // `add` may refuse the job, which must be unchanged then.
    cron.add(name, cronSchedule(job.cronTime), () => callbacks.run(), options);
    callbacks.takeOver();
    job.stop();
  }
}

/** The callbacks of a job. */
class JobCallbacks {
  readonly #job: CronJobLike;
  #failures: unknown[] = [];

  constructor(job: CronJobLike) {
    this.#job = job;
  }

  /** Makes the callbacks awaited, and their errors known here. */
  takeOver(): void {
    const job = this.#job;
    const { errorHandler } = job;
    job.waitForCompletion = true;
    job.errorHandler = (error) => {
      this.#failures.push(error);
      errorHandler?.(error);
    };
  }

  /** Runs the callbacks. Rejects as they do: cron itself only passes their error on. */
  async run(): Promise<void> {
    // cron then ignores the call, and the slot would count as finished.
    if (this.#job.isCallbackRunning === true) throw new Error('the callback of the job still runs, and not for a slot of the fleet');
    this.#failures = [];
    await this.#job.fireOnTick();
    for (const error of this.#failures) throw error;
  }
}
