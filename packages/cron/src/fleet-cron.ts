/** Jobs that run once per slot in a fleet of processes. */

import { type Clock, type Election, IncumbentError, type SignalOptions } from '@incumbent/core';
import {
  checkClock,
  checkFunction,
  checkKnown,
  checkName,
  checkNumber,
  checkSignal,
  invalidOption,
  invalidText,
  orAborted,
} from '@incumbent/core/adapter';
import { type CronReport, reporter, warn } from './reports.ts';
import { checkSchedule, nextSlot, type Schedule } from './schedule.ts';
import { type CronRun, CronTerm, currentRuns, type Job, type Misfire, MISFIRES, type TermContext } from './term.ts';

/** The options of one job. Those of the `FleetCron` are the defaults. */
export interface JobOptions {
  /**
   * What happens to a slot that no process has claimed within `graceMs`: during a failover, while
   * the fleet was down, or because the former run of the job took so long. `'run'` runs it late,
   * `'report'` calls `onReport`, and `'skip'` does nothing. Default `'run'`.
   */
  readonly misfire?: Misfire | undefined;
  /**
   * With `misfire: 'run'`: how many missed slots run late, one after the other. These are the
   * latest ones. `onReport` gets the others. From 1 to 100. Default 1.
   */
  readonly maxLate?: number | undefined;
  /**
   * How long after its time a slot is not yet missed, in ms. From 50, as timers are late, to
   * 86,400,000. Default 1,000.
   */
  readonly graceMs?: number | undefined;
}

/** @internal Options with all defaults filled in. */
export type Filled<O> = { readonly [Name in keyof O]-?: Exclude<O[Name], undefined> };

/** The options of a {@link FleetCron}. */
export interface FleetCronOptions extends JobOptions {
  /**
   * Called about slots that did not run, or whose run did not end well, and about jobs that wait
   * because their last slot is far ahead of the clock. May be async; it is not awaited. Default: a
   * warning of Node, with the code `INCUMBENT_CRON_MISSED`, `INCUMBENT_CRON_INTERRUPTED`,
   * `INCUMBENT_CRON_ABORTED`, `INCUMBENT_CRON_FAILED` or `INCUMBENT_CRON_AHEAD`.
   */
  readonly onReport?: ((report: CronReport) => unknown) | undefined;
  /**
   * The clock of the member, for tests and simulation. A member does not pass its clock on: with a
   * `TestCluster`, pass `cluster.process(memberId).options.clock`. Default `systemClock`.
   */
  readonly clock?: Clock | undefined;
}

const jobOptions = ['misfire', 'maxLate', 'graceMs'] as const;

/** The part of an election that a cron uses. */
export type CronElection = Pick<Election, 'name' | 'lead'>;

/** @internal Takes part in each term: a scheduler that asks before it runs a job itself. */
export interface CronParticipant {
  /** Called at the start of each term. */
  begin(term: CronTerm): void;
  /** Called when `run` settles. */
  end(): void;
}

/**
 * Runs jobs in the leader of an election, each slot of a job at most once in the whole fleet. The
 * leader claims a slot in the store before it runs the job, by a write that the store refuses after
 * a newer term has begun. So a slot that is recorded does not run again, whoever leads next. A
 * leader that dies between the claim and the end of the work loses that run, and the next leader
 * reports it. If work must not be lost, make it repeatable, and let it record what is left to do.
 *
 * One job runs one slot at a time. Different jobs run side by side. For one election per job, give
 * each job a `FleetCron` of its own. All processes need the same election and job names.
 */
export class FleetCron {
  readonly #election: CronElection;
  readonly #context: TermContext;
  readonly #defaults: Filled<JobOptions>;
  readonly #jobs = new Map<string, Job>();
  readonly #participants: CronParticipant[] = [];
  #isRunning = false;
  #isFinishing = false;
  /** The latest term of this process, while `run` is under way. */
  #term: CronTerm | undefined;

  /**
   * Does no I/O.
   *
   * @throws {TypeError | RangeError} `INVALID_OPTION`
   */
  constructor(election: CronElection, options: FleetCronOptions = {}) {
    if (typeof election !== 'object' || election === null || typeof election.lead !== 'function')
      throw invalidOption('election', election, 'an election: member.election(name)');
    checkKnown('cron', options, [...jobOptions, 'onReport', 'clock']);
    const { onReport = warn, clock, ...defaults } = options;
    checkFunction('onReport', onReport);
    this.#election = election;
    this.#context = { election: election.name, clock: checkClock(clock), report: reporter(onReport) };
    this.#defaults = checkJob(defaults, { misfire: 'run', maxLate: 1, graceMs: 1_000 });
  }

  /**
   * The run in whose work this is called, directly or in what the work awaits; undefined elsewhere.
   * For work that gets no arguments, such as a method with `@Cron`.
   */
  static get currentRun(): CronRun | undefined {
    return currentRuns.getStore();
  }

  /**
   * Adds a job before `run` is called. The first leader that has a new job counts its slots from
   * then on. So does the first leader whose schedule has another slot after the last one. If the
   * next slot of the former schedule has come by then, that slot has been missed. A job that was
   * left out meanwhile has missed its slots. The name is a part of the key of the job's last slot,
   * `cron/<election>/<job>`: a job that is renamed is a new job.
   *
   * Work that throws is reported. Its slot does not run again. Work that throws a fence's
   * `STALE_TERM` ends the leadership, as in `election.lead`.
   *
   * Asks the schedule for its next slot, so that a mistake prevents the start of the process: later
   * it would end the leadership, and with it the runs of all jobs.
   *
   * @throws `INVALID_NAME`. `INVALID_OPTION`, also for a name that has been added, after `run`, and
   *   if the schedule throws or returns a time in the past. A schedule may return null.
   */
  add(name: string, schedule: Schedule, work: (run: CronRun) => unknown, options: JobOptions = {}): void {
    checkName('job', name);
    checkSchedule(schedule);
    checkFunction('work', work);
    if (this.#jobs.has(name)) throw invalidText('job', name, 'a name that no other job has');
    if (this.#isRunning) throw invalidText('job', name, 'added before run() is called');
    askOnce(name, schedule, this.#context.clock.wall());
    this.#jobs.set(name, { name, schedule, work, ...this.optionsOf(options) });
  }

  /**
   * Campaigns, and runs the jobs while this process leads. Resolves when the member closes, after
   * `shutdownOn` for example; a run under way is drained first, for `drainMs` at most.
   *
   * @throws As `election.lead` does; `ALREADY_CAMPAIGNING` also while `run` is under way. Aborting
   *   the signal drains the work, resigns, and rejects. `INVALID_OPTION` when a schedule returns a
   *   time in the past. Any error that a schedule throws.
   */
  async run(options: SignalOptions = {}): Promise<void> {
    const signal = checkSignal(options);
    if (this.#isRunning) throw new IncumbentError('ALREADY_CAMPAIGNING', `the jobs of "${this.#election.name}" are run already`);
    this.#isRunning = true;
    try {
      await this.#election.lead(
        async (leadership) => {
          const term = new CronTerm(this.#context, leadership);
          this.#term = term;
          if (this.#isFinishing) void term.finishRuns();
          for (const each of this.#participants) each.begin(term);
          await term.run([...this.#jobs.values()]);
        },
        signal === undefined ? {} : { signal },
      );
    } finally {
      this.#isRunning = false;
      this.#isFinishing = false;
      this.#term = undefined;
      for (const each of this.#participants) each.end();
    }
  }

  /**
   * For an orderly stop that interrupts no run: from now on this process claims no slot, also if it
   * is elected meanwhile. Resolves when its runs under way have ended, at once if there are none.
   * `run` goes on, and so does the leadership: shut the member down then, and the next leader runs
   * the slots that have come due. Ends with `run`: the next call of `run` claims slots again.
   *
   * @throws The signal's reason: runs are still under way, and are not interrupted.
   */
  async finishRuns(options: SignalOptions = {}): Promise<void> {
    const signal = checkSignal(options);
    this.#isFinishing = true;
    if (this.#term !== undefined) await orAborted(this.#term.finishRuns(), signal);
  }

  /** @internal Whether `run` has been called and has not returned. */
  get isRunning(): boolean {
    return this.#isRunning;
  }

  /** @internal The clock of this cron. */
  get clock(): Clock {
    return this.#context.clock;
  }

  /** @internal Adds a scheduler that asks before it runs a job itself. */
  join(participant: CronParticipant): void {
    this.#participants.push(participant);
    if (this.#term !== undefined) participant.begin(this.#term);
  }

  /** @internal The options of a job, with the defaults. */
  optionsOf(options: JobOptions): Filled<JobOptions> {
    checkKnown('job', options, jobOptions);
    return checkJob(options, this.#defaults);
  }
}

/** Throws `INVALID_OPTION`, with the name of the job, if the schedule cannot say its next slot. */
function askOnce(job: string, schedule: Schedule, nowMs: number): void {
  try {
    nextSlot(schedule, nowMs);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const refusal = invalidOption(
      `the schedule of the job "${job}"`,
      schedule,
      `one that returns its next slot or null. Its error: ${why}`,
    );
    throw Object.assign(refusal, { cause: error });
  }
}

function checkJob({ misfire, maxLate, graceMs }: JobOptions, defaults: Filled<JobOptions>): Filled<JobOptions> {
  const checked = {
    misfire: checkMisfire(misfire ?? defaults.misfire),
    maxLate: checkNumber('maxLate', maxLate, defaults.maxLate, { min: 1, max: 100 }),
    graceMs: checkNumber('graceMs', graceMs, defaults.graceMs, { min: 50, max: 86_400_000 }),
  };
  if (!Number.isInteger(checked.maxLate)) throw invalidOption('maxLate', maxLate, 'a whole number');
  return checked;
}

function checkMisfire(misfire: Misfire): Misfire {
  if (!MISFIRES.includes(misfire)) throw invalidText('misfire', misfire, `one of ${MISFIRES.join(', ')}`);
  return misfire;
}
