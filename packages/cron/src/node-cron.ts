/** For `node-cron`: its tasks keep their own timers, and ask a coordinator whether to run. */

import { isIncumbentError } from '@incumbent/core';
import { checkKnown, checkName, checkNumber, invalidOption, invalidText } from '@incumbent/core/adapter';
import { type CronParticipant, FleetCron, type JobOptions, type Filled } from './fleet-cron.ts';
import { type SlotMs, slotOf } from './schedule.ts';
import type { ClaimedRun, CronRun, CronTerm } from './term.ts';

/** The options of a {@link NodeCronCoordinator}. */
export interface NodeCronOptions extends Omit<JobOptions, 'maxLate'> {
  /**
   * With `misfire: 'run'`: how long a process that does not lead keeps the last slot of a task, to
   * run it if it is elected meanwhile, in ms. After that, it reports the slot as missed if it is
   * elected. At least the member's ttl, so that a failover misses no slot. With `noOverlap`,
   * node-cron warns of each slot that comes during this time. From 0 to 3,600,000. Default 30,000.
   */
  readonly holdMs?: number | undefined;
}

/** A slot that came while this process did not lead. */
interface HeldSlot {
  readonly slot: SlotMs;
  /** Whether it does not run any more: if this process is elected, it records it as missed. */
  readonly isMissed: boolean;
  /** Settles the question of node-cron: with the run, or undefined if another process has it. */
  readonly settle: (claimed: Promise<ClaimedRun | undefined> | undefined) => void;
}

/** The time at the end of node-cron's key, after a colon: `2026-01-31T03:00:00.000Z`. */
const ISO_LENGTH = 24;

/**
 * A `RunCoordinator` of node-cron 4.5 and later: `schedule(expression, task, { name, distributed:
 * true, runCoordinator })`. The process that leads claims the slot, and only that process runs the
 * task. The name of the task is the name of the job.
 *
 * node-cron's timers keep the process alive: stop the tasks when `cron.run()` has settled.
 *
 * node-cron knows only the present slot, so of several missed slots at most the latest runs late,
 * and slots that pass while no process runs are not noticed. A process that has had no slot of a
 * task since its start reports an interrupted run only at the first one. node-cron keeps the errors
 * of a task to itself, so a task that throws counts as finished.
 */
export class NodeCronCoordinator {
  readonly #cron: FleetCron;
  readonly #options: Filled<NodeCronOptions>;
  readonly #participant: CronParticipant;
  readonly #held = new Map<string, HeldSlot>();
  /** The latest slot of each task that node-cron has asked about. */
  readonly #asked = new Map<string, SlotMs>();
  readonly #runs = new Map<string, ClaimedRun>();
  #term: CronTerm | undefined;
  /** Whether `run` has been called and has settled. */
  #hasRun = false;

  /** @throws `INVALID_OPTION`. */
  constructor(cron: FleetCron, options: NodeCronOptions = {}) {
    if (!(cron instanceof FleetCron)) throw invalidOption('cron', cron, 'a FleetCron: new FleetCron(election)');
    checkKnown('coordinator', options, ['misfire', 'graceMs', 'holdMs']);
    const { holdMs, ...others } = options;
    this.#cron = cron;
    this.#participant = { begin: (term) => this.#begin(term), end: () => this.#end() };
    const hold = checkNumber('holdMs', holdMs, 30_000, { min: 0, max: 3_600_000 });
    this.#options = { ...cron.optionsOf(others), holdMs: hold };
    cron.join(this.#participant);
  }

  /**
   * Called by node-cron at each slot of a task. True in one process of the fleet, after it has
   * claimed the slot. False after `cron.run()` has settled. Rejects if `cron.run()` has not been
   * called, and with errors of the store: node-cron then logs the error and skips the slot in this
   * process.
   */
  async shouldRun(key: string): Promise<boolean> {
    const { job, slot } = parseKey(key);
    if (!this.#cron.isRunning && this.#hasRun) return false;
    if (!this.#cron.isRunning) throw new Error('call run() of the FleetCron first: without it, no process runs the tasks');
    this.#asked.set(job, slot);
    this.#settle(job, undefined);
    const claimed = await (this.#term === undefined ? this.#hold(job, slot) : this.#claimOrHold(this.#term, job, slot));
    if (claimed !== undefined) this.#runs.set(key, claimed);
    return claimed !== undefined;
  }

  /** Called by node-cron after a run. Records that it is over. */
  async onComplete(key: string): Promise<void> {
    const claimed = this.#runs.get(key);
    this.#runs.delete(key);
    try {
      await claimed?.complete();
    } catch (error) {
      // The next leader reports the run.
      if (!isEnd(error)) throw error;
    }
  }

  /** The run of a task, from the context with which node-cron calls the task. */
  runOf({ date, task }: { readonly date: Date; readonly task?: { readonly name?: string } }): CronRun | undefined {
    return this.#runs.get(`${task?.name}:${date.toISOString()}`)?.run;
  }

  /**
   * Keeps a slot until this process is elected, or a later slot comes. Settles with undefined when
   * the slot is not to run any more.
   */
  async #hold(job: string, slot: SlotMs): Promise<ClaimedRun | undefined> {
    const { promise, resolve } = Promise.withResolvers<ClaimedRun | undefined>();
    const runs = this.#options.misfire === 'run';
    const held: HeldSlot = { slot, isMissed: !runs, settle: resolve };
    if (!this.#keep(job, held) || !runs) return undefined;
    const letGo = this.#cron.clock.schedule(this.#options.holdMs, () => {
      if (this.#held.get(job) === held) this.#keepMissed(job, slot);
    });
    try {
      return await promise;
    } finally {
      letGo();
    }
  }

  /** Keeps only the latest slot. False if this one is not kept, or nobody runs the jobs. */
  #keep(job: string, held: HeldSlot): boolean {
    const other = this.#held.get(job);
    if (!this.#cron.isRunning || (other !== undefined && other.slot > held.slot)) return false;
    this.#settle(job, undefined);
    this.#held.set(job, held);
    return true;
  }

  /** Answers node-cron with no, and keeps the slot only to record it as missed. */
  #keepMissed(job: string, slot: SlotMs): void {
    this.#keep(job, { slot, isMissed: true, settle: () => {} });
  }

  #settle(job: string, claimed: Promise<ClaimedRun | undefined> | undefined): void {
    const held = this.#held.get(job);
    this.#held.delete(job);
    held?.settle(claimed);
  }

  /** Claims a slot. If the leadership ends first, this process may lead again. */
  async #claimOrHold(term: CronTerm, job: string, slot: SlotMs): Promise<ClaimedRun | undefined> {
    try {
      return await term.claim(job, slot, this.#options.graceMs);
    } catch (error) {
      if (isEnd(error)) return this.#hold(job, slot);
      throw error;
    }
  }

  /** Records a slot as missed, in the next term if it cannot be done in this one. */
  async #miss(term: CronTerm, job: string, slot: SlotMs): Promise<void> {
    try {
      await term.miss(job, slot, this.#options.misfire !== 'skip');
    } catch {
      this.#keepMissed(job, slot);
    }
  }

  #begin(term: CronTerm): void {
    this.#term = term;
    void term.over.then(() => {
      if (this.#term === term) this.#term = undefined;
    });
    for (const [job, { slot, isMissed }] of [...this.#held]) {
      this.#settle(job, isMissed ? undefined : this.#claimOrHold(term, job, slot));
      if (isMissed) void this.#miss(term, job, slot);
    }
    // Otherwise a run of a former leader would be reported at the next slot, perhaps a day later.
    for (const [job, slot] of this.#asked) void term.review(job, slot).catch(() => {});
  }

  /** `run` has settled: answers no to every question that is still open. */
  #end(): void {
    this.#hasRun = true;
    this.#term = undefined;
    for (const job of this.#held.keys()) this.#settle(job, undefined);
  }
}

/** Whether the leadership ended before the call did. */
function isEnd(error: unknown): boolean {
  return isIncumbentError(error, 'LEADERSHIP_ENDED');
}

function parseKey(key: string): { readonly job: string; readonly slot: SlotMs } {
  const job = checkName('the name of the task', key.slice(0, -ISO_LENGTH - 1));
  const slot = slotOf(key.slice(-ISO_LENGTH));
  if (Number.isNaN(slot)) throw invalidText('key', key, 'the name of a task, a colon and a time, as node-cron passes it');
  return { job, slot };
}
