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
import { checkFunction, checkSignal, invalidOption, isRetryable, onAbort } from '@incumbent/core/adapter';

/** A leadership of one slot. */
export type SlotLeadership<V = unknown> = Leadership<V> & {
  /** The index of the slot, from 0 to one less than the number of slots. */
  readonly slot: number;
};

/** The options of a {@link SlotElection}: those of an election, and the number of slots. */
export interface SlotOptions<V> extends ElectionOptions<V> {
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

/** One way to campaign in the election of a slot. */
type Campaign<V, T> = (
  election: Election<V>,
  run: (leadership: Leadership<V>) => Promise<Done<T> | undefined>,
  options: { readonly signal: AbortSignal },
) => Promise<Done<T> | undefined>;

/** A slot that this member leads, until `done` settles. */
interface Taken<T> {
  readonly done: Promise<Done<T> | undefined>;
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

  /**
   * Does no I/O. The succession orders the candidates that wait; the other options apply to every
   * slot.
   *
   * @throws As `member.election`, also if the member takes part in one of these elections already.
   */
  constructor(member: Member, name: string, options: SlotOptions<V>) {
    const { slots, succession, ...rest } = options;
    if (!Number.isInteger(slots) || slots < 1 || slots > MOST_SLOTS)
      throw invalidOption('slots', slots, `an integer from 1 to ${MOST_SLOTS}`);
    this.name = name;
    this.slots = slots;
    const { acceptWeakStore } = rest;
    const order = succession === undefined ? {} : { succession };
    this.#queue = member.election(`${name}.next`, { ...order, acceptWeakStore });
    this.#elections = Array.from({ length: slots }, (_, slot) => member.election<V>(`${name}.${slot}`, { ...rest }));
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
   * @throws As `election.lead` does.
   */
  async lead<T>(work: Work<V, T>, options: SignalOptions = {}): Promise<T | undefined> {
    checkFunction('work', work);
    const signal = checkSignal(options);
    if (this.#isRunning)
      throw new IncumbentError('ALREADY_CAMPAIGNING', `this member already campaigns for a slot of "${this.name}", or leads one`);
    this.#isRunning = true;
    try {
      return await this.#leadUntilDone(work, signal);
    } finally {
      this.#isRunning = false;
    }
  }

  async #leadUntilDone<T>(work: Work<V, T>, signal: AbortSignal | undefined): Promise<T | undefined> {
    for (;;) {
      signal?.throwIfAborted();
      const taken = await this.#takeInTurn(work, signal);
      if (taken === 'closed') return undefined;
      try {
        if (taken !== undefined) return (await taken.done)?.value;
      } catch (error) {
        if (!isIncumbentError(error, 'LEADERSHIP_ENDED')) throw error;
      } finally {
        this.#leadership = undefined;
      }
    }
  }

  /** Waits to be the next, and then for a slot. Undefined if this member is no longer the next. */
  async #takeInTurn<T>(work: Work<V, T>, signal: AbortSignal | undefined): Promise<Taken<T> | 'closed' | undefined> {
    const turn: { taken?: Taken<T> | undefined } = {};
    const whileNext = async (next: Leadership): Promise<boolean> => {
      turn.taken = await this.#take(work, AbortSignal.any(signal === undefined ? [next.signal] : [next.signal, signal]), signal);
      return true;
    };
    try {
      const isOpen = await this.#queue.lead(whileNext, { once: true, ...(signal === undefined ? {} : { signal }) });
      return turn.taken ?? (isOpen === true ? undefined : 'closed');
    } catch (error) {
      // The work of a slot that was taken goes on: the queue has no part in it.
      if (turn.taken !== undefined) return turn.taken;
      if (signal?.aborted === true || !isIncumbentError(error, 'LEADERSHIP_ENDED')) throw error;
      return undefined;
    }
  }

  /**
   * Takes the first slot that is free, or else the first one that becomes free. `stop` ends the
   * wait for a slot. `signal` also ends the work of a slot that was taken.
   */
  async #take<T>(work: Work<V, T>, stop: AbortSignal, signal: AbortSignal | undefined): Promise<Taken<T> | undefined> {
    // One after the other: of several free slots, this member claims one only.
    for (const slot of this.#elections.keys()) {
      const attempt = this.#attempt(slot, work, signal, (election, run, options) => election.tryLead(run, options));
      const stopWaiting = onAbort(stop, () => attempt.withdraw());
      const tried = await triedOf(attempt.elected);
      stopWaiting();
      if (tried === 'elected') return { done: attempt.done };
      // A campaign tries again until the store answers, and finds a claim that was applied.
      if (tried === 'unanswered') break;
    }
    const attempts = Array.from(this.#elections.keys(), (slot) =>
      this.#attempt(slot, work, signal, (election, run, options) => election.lead(run, { once: true, ...options })),
    );
    const withdrawAll = (): void => attempts.forEach((attempt) => attempt.withdraw());
    const stopWaiting = onAbort(stop, withdrawAll);
    const [first] = await Promise.allSettled([Promise.race(attempts.map(({ elected }) => elected))]);
    stopWaiting();
    withdrawAll();
    await Promise.allSettled(attempts.map(({ elected }) => elected));
    const mine = attempts.find((attempt) => attempt.isMine());
    if (mine !== undefined) return { done: mine.done };
    if (first?.status === 'rejected') throw first.reason;
    return undefined;
  }

  /** Campaigns in one slot. Whoever is elected second, in the same moment, resigns without work. */
  #attempt<T>(slot: number, work: Work<V, T>, signal: AbortSignal | undefined, campaign: Campaign<V, T>): Attempt<T> {
    const election = this.#elections[slot];
    if (election === undefined) throw new TypeError('never');
    const withdrawal = new AbortController();
    const { promise: elected, resolve, reject } = Promise.withResolvers<boolean>();
    let isMine = false;
    const run = async (leadership: Leadership<V>): Promise<Done<T> | undefined> => {
      if (this.#leadership !== undefined || withdrawal.signal.aborted) return undefined;
      isMine = true;
      this.#leadership = Object.assign(leadership, { slot });
      resolve(true);
      return { value: await work(this.#leadership) };
    };
    const stop = onAbort(signal, () => withdrawal.abort(signal?.reason));
    const done = campaign(election, run, { signal: withdrawal.signal }).finally(stop);
    done.then(
      () => resolve(false),
      (error: unknown) =>
        isMine || withdrawal.signal.aborted || isIncumbentError(error, 'LEADERSHIP_ENDED') ? resolve(false) : reject(error),
    );
    const withdraw = (): void => {
      if (!isMine) withdrawal.abort();
    };
    return { elected, done, withdraw, isMine: () => isMine };
  }
}

/** How a try has ended. Rejects if its error would come again. */
async function triedOf(elected: Promise<boolean>): Promise<'elected' | 'refused' | 'unanswered'> {
  try {
    return (await elected) ? 'elected' : 'refused';
  } catch (error) {
    if (isRetryable(error)) return 'unanswered';
    throw error;
  }
}

interface Attempt<T> extends Taken<T> {
  /**
   * True when the work begins; false if the attempt ends without it. Rejects as the campaign does.
   */
  readonly elected: Promise<boolean>;
  /** Withdraws, unless the work has begun. */
  readonly withdraw: () => void;
  /** Whether the work has begun. */
  readonly isMine: () => boolean;
}
