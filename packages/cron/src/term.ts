/** The jobs of a fleet during one leadership: waits for their slots, claims them and runs them. */

import { AsyncLocalStorage } from 'node:async_hooks';
import { type Clock, isIncumbentError, type Leadership } from '@incumbent/core';
import { onAbort, reportStaleTerm, sleep, withJson } from '@incumbent/core/adapter';
import type { CronReport } from './reports.ts';
import { dateOf, lastDropped, nextSlot, type Schedule, type SlotMs } from './schedule.ts';
import { SlotBook } from './slot-record.ts';

/** One run of a job. `JSON.stringify` writes the term as text. */
export interface CronRun {
  readonly job: string;
  /** The scheduled time of this run, which may be in the past. No other run of the job has it. */
  readonly slot: Date;
  /** Whether the run begins more than `graceMs` after its slot. */
  readonly isLate: boolean;
  /** The fencing token: send it with every write to a resource that is not the store. */
  readonly term: bigint;
  /** Aborts when the leadership ends. The run must stop then, within the member's `drainMs`. */
  readonly signal: AbortSignal;
  /** To check before an act that cannot be undone, and to write to the store. */
  readonly leadership: Leadership;
}

export const MISFIRES = ['run', 'report', 'skip'] as const;

/**
 * What happens to a slot that no process has claimed in time. `run`: it runs late. `report`: it
 * does not run, and is reported. `skip`: it does not run, silently.
 */
export type Misfire = (typeof MISFIRES)[number];

/** A job with its options. */
export interface Job {
  readonly name: string;
  readonly schedule: Schedule;
  readonly work: (run: CronRun) => unknown;
  readonly misfire: Misfire;
  readonly maxLate: number;
  readonly graceMs: number;
}

/** What all terms of one cron share. */
export interface TermContext {
  readonly election: string;
  readonly clock: Clock;
  readonly report: (report: CronReport) => void;
}

/** The longest wait before the wall clock is read again, which somebody may set. */
const RECHECK_MS = 60_000;

/** The run in whose work this code is called. */
export const currentRuns: AsyncLocalStorage<CronRun> = new AsyncLocalStorage<CronRun>();

/** One leadership, in which the jobs claim and run their slots. */
export class CronTerm {
  readonly #context: TermContext;
  readonly #leadership: Leadership;
  /** Aborts with the leadership, or before it when the jobs of this term fail. */
  readonly #halt = new AbortController();
  /** Ends the waits for the next slots: aborts with `#halt`, or in `finishRuns`. */
  readonly #finishing = new AbortController();
  /** Whether the runs under way are the last ones of this term. */
  #isFinishing = false;
  /** The loops of the jobs, and the slots that a scheduler claims and runs. None rejects. */
  readonly #underWay = new Set<Promise<unknown>>();
  readonly #books = new Map<string, Promise<Opened>>();

  constructor(context: TermContext, leadership: Leadership) {
    this.#context = context;
    this.#leadership = leadership;
  }

  /**
   * Runs the jobs until the leadership ends. Resolves when all work has stopped. After an error of
   * the store or of a schedule, tells the work to stop and rejects with that error.
   */
  async run(jobs: readonly Job[]): Promise<void> {
    const { signal, ended } = this.#leadership;
    const stop = onAbort(signal, () => this.#halt.abort(signal.reason));
    onAbort(this.#halt.signal, () => this.#finishing.abort());
    const loops = jobs.map((job) => this.#track(this.#loop(job)));
    try {
      await Promise.all([ended, ...loops]);
    } catch (error) {
      this.#halt.abort(error);
      this.#leadership.waitUntil(Promise.allSettled(loops));
      throw error;
    } finally {
      stop();
    }
  }

  /** Claims no further slot. Resolves when the runs under way have ended, and that is recorded. */
  async finishRuns(): Promise<void> {
    this.#isFinishing = true;
    this.#finishing.abort();
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }

  /** Resolves when the leadership ends. */
  get over(): Promise<unknown> {
    return this.#leadership.ended;
  }

  /**
   * Claims a slot for a scheduler that runs the work itself. Undefined if the slot has been
   * claimed, if no further slot is to be claimed, or if the leadership has ended.
   */
  async claim(job: string, slot: SlotMs, graceMs: number): Promise<ClaimedRun | undefined> {
    return this.#isFinishing ? undefined : this.#track(this.#claim(job, slot, graceMs));
  }

  async #claim(job: string, slot: SlotMs, graceMs: number): Promise<ClaimedRun | undefined> {
    const { book } = await this.#open(job, slot - 1);
    const isClaimed = await book.claim(slot);
    book.checkAhead(this.#context.clock.wall());
    if (!isClaimed) return undefined;
    const run = this.#runOf(job, slot, this.#context.clock.wall() - slot > graceMs);
    const hasEnded = this.#reportAbort(run);
    if (!this.#leadership.isValid()) return undefined;
    const done = Promise.withResolvers<void>();
    this.#leadership.waitUntil(done.promise);
    const recorded = Promise.withResolvers<void>();
    void this.#track(recorded.promise);
    const complete = async (): Promise<void> => {
      hasEnded();
      done.resolve();
      try {
        if (this.#leadership.isValid()) await book.finish(slot, 'finished');
      } finally {
        recorded.resolve();
      }
    };
    return { run, complete };
  }

  /** Records that this slot has been missed, unless it has been claimed. */
  async miss(job: string, slot: SlotMs, isReported: boolean): Promise<void> {
    const { book } = await this.#open(job, slot - 1);
    await book.miss({ from: slot, to: slot, isReported });
    book.checkAhead(this.#context.clock.wall());
  }

  /** Reports what former leaders may not have reported about a job that has had this slot. */
  async review(job: string, slot: SlotMs): Promise<void> {
    // A new job begins before this slot, which may be asked about again.
    await this.#open(job, slot - 1);
  }

  /** Adds a task that {@link finishRuns} waits for. */
  #track<T>(task: Promise<T>): Promise<T> {
    const settled = task.then(
      () => {},
      () => {},
    );
    this.#underWay.add(settled);
    void settled.then(() => this.#underWay.delete(settled));
    return task;
  }

  async #loop(job: Job): Promise<void> {
    const { signal } = this.#halt;
    try {
      const { book, last: opened } = await this.#open(job.name, this.#context.clock.wall(), job.schedule);
      const { schedule = job.schedule } = book;
      let last = opened;
      while (!this.#finishing.signal.aborted) last = await this.#step({ ...job, schedule }, book, last);
    } catch (error) {
      // Calls to the store reject once the leadership has ended.
      if (!signal.aborted) throw error;
    }
  }

  /**
   * Waits for the slot after `last`, or deals with it. Returns the last slot that is dealt with.
   */
  async #step(job: Job, book: SlotBook, last: SlotMs): Promise<SlotMs> {
    const { clock } = this.#context;
    const now = clock.wall();
    const slot = nextSlot(job.schedule, last);
    if (slot === undefined || slot > now) {
      // The clock may also have been set back during this term.
      book.checkAhead(now);
      await sleep(clock, Math.min((slot ?? Infinity) - now, RECHECK_MS), this.#finishing.signal);
      return last;
    }
    const isLate = now - slot > job.graceMs;
    const dropTo = isLate ? lastDropped(job.schedule, slot, now - job.graceMs, job.misfire === 'run' ? job.maxLate : 0) : undefined;
    try {
      if (dropTo !== undefined) await book.miss({ from: slot, to: dropTo, isReported: job.misfire !== 'skip' });
      // The claim may have taken a while.
      else if (await book.claim(slot)) await this.#perform(job, book, this.#runOf(job.name, slot, clock.wall() - slot > job.graceMs));
    } catch (error) {
      // The other jobs run on.
      if (!isUnreadable(error)) throw error;
      this.#context.report({ type: 'failed', job: job.name, slot: dateOf(dropTo ?? slot), term: this.#leadership.term, error });
    }
    return dropTo ?? slot;
  }

  /** Runs a slot that is claimed. Rejects only with an error of the store. */
  async #perform(job: Job, book: SlotBook, run: CronRun): Promise<void> {
    const slot = run.slot.getTime();
    const hasEnded = this.#reportAbort(run);
    if (!this.#leadership.isValid()) return;
    try {
      await currentRuns.run(run, async () => job.work(run)).finally(hasEnded);
    } catch (error) {
      // Otherwise the end of the leadership has stopped the run. The next leader reports it, too.
      if (!run.signal.aborted) {
        this.#context.report({ type: 'failed', job: job.name, slot: run.slot, term: run.term, error });
        await book.finish(slot, 'failed');
      }
      // A fence has seen a newer term: the next claim must take a higher one, if there may be one.
      reportStaleTerm(error, this.#leadership);
      return;
    }
    if (this.#leadership.isValid()) await book.finish(slot, 'finished');
  }

  /** Reports the run if its signal aborts before the function that this returns is called. */
  #reportAbort({ job, slot, term, signal }: CronRun): () => void {
    return onAbort(signal, () => this.#context.report({ type: 'aborted', job, slot, term, reason: signal.reason }));
  }

  /** Reads the record of a job, once in this term. */
  async #open(job: string, nowMs: number, schedule?: Schedule): Promise<Opened> {
    const known = this.#books.get(job);
    if (known !== undefined) return known;
    const opening = this.#read(job, nowMs, schedule);
    this.#books.set(job, opening);
    // Another call tries again.
    opening.catch(() => this.#books.delete(job));
    return opening;
  }

  async #read(job: string, nowMs: number, schedule: Schedule | undefined): Promise<Opened> {
    const { election, report } = this.#context;
    const book = new SlotBook(this.#leadership, { election, job, schedule, report });
    try {
      return { book, last: await book.open(nowMs) };
    } catch (error) {
      // Each claim fails, until somebody deletes the record.
      if (isUnreadable(error)) return { book, last: nowMs };
      throw error;
    }
  }

  #runOf(job: string, slot: SlotMs, isLate: boolean): CronRun {
    const { term } = this.#leadership;
    return withJson({ job, slot: dateOf(slot), isLate, term, signal: this.#halt.signal, leadership: this.#leadership });
  }
}

/** A slot that is claimed for a scheduler that runs the work itself. */
export interface ClaimedRun {
  readonly run: CronRun;
  /** Records that the run is over. Rejects as `leadership.stored` does. */
  readonly complete: () => Promise<void>;
}

interface Opened {
  readonly book: SlotBook;
  readonly last: SlotMs;
}

/** Whether another program, or a newer version, has written the record of a job. */
function isUnreadable(error: unknown): boolean {
  return isIncumbentError(error, 'FOREIGN_DATA');
}
