/**
 * Several leaders at the same time, each in a slot with an index. Uses only what core exports:
 * every slot is an ordinary election, and so is the queue of those who wait for a slot.
 */

import {
  type Election,
  type ElectionOptions,
  type Leadership,
  IncumbentError,
  isIncumbentError,
  type Member,
  type SignalOptions,
} from '@incumbent/core';
import {
  checkFunction,
  checkKnown,
  checkName,
  checkSignal,
  checkSuccessionOption,
  electionOptions,
  invalidOption,
  isRetryable,
  onAbort,
} from '@incumbent/core/adapter';

/** A leadership of one slot. */
export type SlotLeadership<V = unknown> = Leadership<V> & {
  /** The index of the slot, from 0 to one less than the number of slots. */
  readonly slot: number;
};

/** The options of a {@link SlotElection}: those of an election, and the number of slots. */
export interface SlotOptions<V = unknown> extends ElectionOptions<V> {
  /** How many leaders there may be: an integer from 1 to 100. The same for all members. */
  readonly slots: number;
}

/** The next candidate waits in every slot's election, and each of these costs keys and a watch. */
const MOST_SLOTS = 100;

type Work<V, T> = (leadership: SlotLeadership<V>) => Promise<T> | T;

/** What the work has returned. Distinct from undefined, with which a closing member resolves. */
interface Done<T> {
  readonly value: T;
}

/** A slot that this member leads, until `done` settles. */
interface Taken<T> {
  readonly done: Promise<Done<T> | undefined>;
}

/** The work, and the signal of the call of `lead`, which ends the work too. */
interface Job<V, T> {
  readonly work: Work<V, T>;
  readonly signal: AbortSignal | undefined;
}

/**
 * One member's part in an election with several leaders. Slot `i` of `workers` is the election
 * `workers.i`, so its terms are its own, and observers and tools see it as any other. Candidates
 * queue in the election `workers.next`, whose leader takes the first slot that is free.
 */
export class SlotElection<V = unknown> {
  readonly name: string;
  /** How many leaders there may be. */
  readonly slots: number;
  readonly #queue: Election;
  readonly #elections: readonly Election<V>[];
  #leadership: SlotLeadership<V> | undefined;
  #isRunning = false;
  /** Also true for work that did not stop when its call of `lead` was aborted. */
  #isWorking = false;

  /**
   * Does no I/O. The succession orders the candidates that wait; the other options apply to every
   * slot.
   *
   * @throws As `member.election`, also if the member takes part in one of these elections already.
   */
  constructor(member: Member, name: string, options: SlotOptions<V>) {
    checkName('name', name);
    if (typeof member !== 'object' || member === null || !('election' in member)) throw invalidOption('member', member, 'a Member');
    if (typeof options !== 'object' || options === null) throw invalidOption('options', options, 'an object with `slots`');
    checkKnown('slot election', options, [...electionOptions, 'slots']);
    const { slots, succession, ...rest } = options;
    if (!Number.isInteger(slots) || slots < 1 || slots > MOST_SLOTS)
      throw invalidOption('slots', slots, `an integer from 1 to ${MOST_SLOTS}`);
    this.name = name;
    this.slots = slots;
    // Check what only the queue has, because the slots' elections are made first: the longest name,
    // and the succession. A wrong option then makes no election, and the corrected call succeeds.
    const queue = checkName('election', `${name}.next`);
    checkSuccessionOption(succession);
    this.#elections = Array.from({ length: slots }, (_, slot) => member.election<V>(`${name}.${slot}`, { ...rest }));
    const { acceptWeakStore } = rest;
    const order = succession === undefined ? {} : { succession };
    this.#queue = member.election(queue, { ...order, acceptWeakStore });
  }

  /** The present leadership of this member; undefined if there is none that is valid. */
  get leadership(): SlotLeadership<V> | undefined {
    return this.#leadership?.isValid() === true ? this.#leadership : undefined;
  }

  /**
   * Waits for a slot, and runs `work` while this member leads it. Runs one work at a time: a member
   * has at most one slot. After a loss or a handover, aborts the leadership's signal, awaits the
   * work, and waits for a slot again, at the end of the queue.
   *
   * Work that returns resigns; this resolves with its value. Work that throws resigns; this rejects
   * with its error. Aborting the signal drains the work, resigns, and rejects. Resolves with
   * undefined when the member closes.
   *
   * @throws As `election.lead` does. `ALREADY_CAMPAIGNING` also while work of an aborted call has
   *   not stopped.
   */
  async lead<T>(work: Work<V, T>, options: SignalOptions = {}): Promise<T | undefined> {
    checkFunction('work', work);
    const signal = checkSignal(options);
    if (this.#isRunning || this.#isWorking)
      throw new IncumbentError('ALREADY_CAMPAIGNING', `this member already campaigns for a slot of "${this.name}", or leads one`);
    this.#isRunning = true;
    try {
      return await this.#leadUntilDone({ work, signal });
    } finally {
      this.#isRunning = false;
    }
  }

  async #leadUntilDone<T>(job: Job<V, T>): Promise<T | undefined> {
    for (;;) {
      job.signal?.throwIfAborted();
      const taken = await this.#takeInTurn(job);
      if (taken === 'closed') return undefined;
      try {
        if (taken !== undefined) return (await taken.done)?.value;
      } catch (error) {
        const end = await this.#leadership?.ended;
        // The work has thrown, or has resigned, or the caller has given up.
        if (end === undefined || end.reason === 'workFailed' || end.reason === 'resigned') throw error;
      } finally {
        this.#leadership = undefined;
      }
    }
  }

  /** Waits to be the next, and then for a slot. Undefined if this member is no longer the next. */
  async #takeInTurn<T>(job: Job<V, T>): Promise<Taken<T> | 'closed' | undefined> {
    const { signal } = job;
    const turn: { taken?: Taken<T> | undefined } = {};
    const whileNext = async (next: Leadership): Promise<boolean> => {
      const stop = AbortSignal.any(signal === undefined ? [next.signal] : [next.signal, signal]);
      turn.taken = (await this.#takeFree(job, stop)) ?? (await this.#waitForSlot(job, stop));
      return true;
    };
    try {
      const isOpen = await this.#queue.lead(whileNext, { once: true, signal });
      return turn.taken ?? (isOpen === true ? undefined : 'closed');
    } catch (error) {
      // The work of a slot that was taken goes on: the queue has no part in it.
      if (turn.taken !== undefined) return turn.taken;
      if (signal?.aborted === true || !isIncumbentError(error, 'LEADERSHIP_ENDED')) throw error;
      return undefined;
    }
  }

  /**
   * Takes the first slot that is free. Tries one slot after the other, so that of several free
   * slots this member claims only one. Undefined if none is free, or `stop` aborts.
   */
  async #takeFree<T>(job: Job<V, T>, stop: AbortSignal): Promise<Taken<T> | undefined> {
    for (const [slot, election] of this.#elections.entries()) {
      if (stop.aborted) return undefined;
      const campaign = this.#campaign(slot, job, (run, options) => election.tryLead(run, options));
      const outcome = await withdrawnOn(stop, [campaign], () => outcomeOf(campaign));
      if (outcome === 'elected') return campaign;
      // A campaign that waits tries again until the store answers, and finds a claim that was
      // applied.
      if (outcome === 'unanswered') return undefined;
    }
    return undefined;
  }

  /** Campaigns in all slots, and takes the first one that becomes free, unless `stop` aborts. */
  async #waitForSlot<T>(job: Job<V, T>, stop: AbortSignal): Promise<Taken<T> | undefined> {
    if (stop.aborted) return undefined;
    const campaigns = this.#elections.map((election, slot) =>
      this.#campaign(slot, job, (run, options) => election.lead(run, { once: true, ...options })),
    );
    const elected = campaigns.map((campaign) => campaign.elected);
    const [first] = await withdrawnOn(stop, campaigns, () => Promise.allSettled([Promise.race(elected)]));
    for (const campaign of campaigns) campaign.withdraw();
    await Promise.allSettled(elected);
    const won = campaigns.find(({ isWon }) => isWon);
    if (won === undefined && first.status === 'rejected') throw first.reason;
    return won;
  }

  #campaign<T>(slot: number, { work, signal }: Job<V, T>, start: StartCampaign<V, T>): SlotCampaign<V, T> {
    const accept = (leadership: Leadership<V>): SlotLeadership<V> | undefined => {
      // Another slot was won in the same moment.
      if (this.#leadership !== undefined) return undefined;
      this.#leadership = Object.assign(leadership, { slot });
      return this.#leadership;
    };
    const working = async (leadership: SlotLeadership<V>): Promise<T> => {
      this.#isWorking = true;
      try {
        return await work(leadership);
      } finally {
        this.#isWorking = false;
      }
    };
    return new SlotCampaign({ start, accept, work: working, signal });
  }
}

/** One way to campaign in the election of a slot. */
type StartCampaign<V, T> = (
  run: (leadership: Leadership<V>) => Promise<Done<T> | undefined>,
  options: { readonly signal: AbortSignal },
) => Promise<Done<T> | undefined>;

interface SlotCampaignOptions<V, T> extends Job<V, T> {
  readonly start: StartCampaign<V, T>;
  /** Undefined: the leadership is resigned without work. */
  readonly accept: (leadership: Leadership<V>) => SlotLeadership<V> | undefined;
}

/** A campaign in the election of one slot. */
class SlotCampaign<V, T> implements Taken<T> {
  /** Settles as the campaign does. */
  readonly done: Promise<Done<T> | undefined>;
  readonly #accept: SlotCampaignOptions<V, T>['accept'];
  readonly #work: Work<V, T>;
  readonly #elected = Promise.withResolvers<boolean>();
  readonly #withdrawal = new AbortController();
  #isWon = false;

  constructor({ start, accept, work, signal }: SlotCampaignOptions<V, T>) {
    this.#accept = accept;
    this.#work = work;
    const stop = onAbort(signal, () => this.#withdrawal.abort(signal?.reason));
    this.done = start(async (leadership) => this.#run(leadership), { signal: this.#withdrawal.signal }).finally(stop);
    this.done.then(
      () => this.#elected.resolve(false),
      (error: unknown) => this.#failed(error),
    );
  }

  /**
   * True when the work begins; false if the campaign is withdrawn, or if its leadership ends before
   * the work. Rejects with any other error of the campaign.
   */
  get elected(): Promise<boolean> {
    return this.#elected.promise;
  }

  /** Whether the work has begun. */
  get isWon(): boolean {
    return this.#isWon;
  }

  /** Withdraws, unless the work has begun. */
  withdraw(): void {
    if (!this.#isWon) this.#withdrawal.abort();
  }

  async #run(leadership: Leadership<V>): Promise<Done<T> | undefined> {
    const accepted = this.#withdrawal.signal.aborted ? undefined : this.#accept(leadership);
    if (accepted === undefined) return undefined;
    this.#isWon = true;
    this.#elected.resolve(true);
    return { value: await this.#work(accepted) };
  }

  #failed(error: unknown): void {
    const isExpected = this.#isWon || this.#withdrawal.signal.aborted || isIncumbentError(error, 'LEADERSHIP_ENDED');
    if (isExpected) this.#elected.resolve(false);
    else this.#elected.reject(error);
  }
}

/** Settles as the task does. Withdraws the campaigns if the signal aborts meanwhile. */
async function withdrawnOn<R>(signal: AbortSignal, campaigns: readonly { withdraw(): void }[], task: () => Promise<R>): Promise<R> {
  const cancel = onAbort(signal, () => campaigns.forEach((campaign) => campaign.withdraw()));
  try {
    return await task();
  } finally {
    cancel();
  }
}

/** How a try has ended. Rejects if its error would come again. */
async function outcomeOf({ elected }: { readonly elected: Promise<boolean> }): Promise<'elected' | 'refused' | 'unanswered'> {
  try {
    return (await elected) ? 'elected' : 'refused';
  } catch (error) {
    if (isRetryable(error)) return 'unanswered';
    throw error;
  }
}
