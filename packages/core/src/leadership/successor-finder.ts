/** Chooses the candidate that a leader hands over to, and carries out an operator's request. */

import type { SignalOptions } from '../async/abort.ts';
import { sleep } from '../async/sleep.ts';
import { IncumbentError, isRetryable } from '../base/errors.ts';
import { checkName } from '../base/validate.ts';
import type { SessionContext } from '../lease/session.ts';
import type { ElectionKeys } from '../protocol/keys.ts';
import { inSuccession, noSuccessor, readName, type Succession, type Successor, successorAmong } from '../protocol/succession.ts';
import type { PayloadCodec } from '../protocol/value-codec.ts';
import type { Entry, Key, ListOptions } from '../store/contract.ts';
import type { LeaderCalls } from './calls.ts';
import type { ChosenSuccessor, LeadershipEndReason } from './release-machine.ts';

/** @internal What all leaderships of a member in one election share. */
export interface ElectionSpec<V> {
  readonly election: string;
  readonly keys: ElectionKeys;
  readonly succession: Succession;
  readonly codec: PayloadCodec<V>;
  /** Called with each term that a fence has seen, also after the end of a leadership. */
  readonly onSeenTerm: (seen: bigint) => void;
}

/** Which candidate gets the term of a leadership that ends. */
interface SuccessorAtEnd {
  /** Undefined if no candidate gets it, or the leader must look for one. */
  readonly chosen: ChosenSuccessor | undefined;
  /** True if the leader looks for the next in succession while its work drains. */
  readonly looksForNext: boolean;
}

/** The leader, as the queue shows it. */
interface LeaderInQueue {
  /** The key of its entry. */
  readonly key: Key;
  readonly incarnation: string;
  /** Called with each other entry of its process, which an earlier campaign has left. */
  readonly onOtherEntry: (key: Key) => void;
}

/**
 * Finds the candidate that one leader hands over to: by a look at the queue, or in advance.
 *
 * Where only the time of joining counts, no later candidate goes before the first one. So a leader
 * that has found the first candidate knows its successor until that candidate leaves the queue. The
 * swap of a handover names the entry at the revision that was read, so the store refuses the swap
 * if the candidate has left, and the leader looks again.
 */
export class SuccessorFinder {
  readonly #spec: Pick<ElectionSpec<never>, 'election' | 'keys' | 'succession'>;
  readonly #leader: LeaderInQueue;
  readonly #calls: LeaderCalls;
  #known: Successor | undefined;

  constructor(spec: Pick<ElectionSpec<never>, 'election' | 'keys' | 'succession'>, leader: LeaderInQueue, calls: LeaderCalls) {
    this.#spec = spec;
    this.#leader = leader;
    this.#calls = calls;
  }

  /** The first candidate, if `lookUp` has found one. It may have left the queue since. */
  get known(): ChosenSuccessor | undefined {
    return this.#known && { successor: this.#known, early: true };
  }

  /**
   * Which candidate gets the term of a leadership that ends, and whether to look for one while its
   * work drains. `wanted`: the candidate that was chosen, or `next` for the next in succession.
   * `inOne`: one swap elects the successor.
   */
  atEnd(reason: LeadershipEndReason, wanted: ChosenSuccessor | 'next' | undefined, inOne: boolean): SuccessorAtEnd {
    if (wanted === 'next') return { chosen: this.known, looksForNext: this.known === undefined };
    if (wanted !== undefined) return { chosen: wanted, looksForNext: false };
    // A resignation is a handover where the successor is known and one swap elects it.
    const isResignation = reason === 'resigned' || reason === 'workFailed' || reason === 'steppedDown';
    return { chosen: isResignation && inOne ? this.known : undefined, looksForNext: false };
  }

  /**
   * Finds the first candidate in advance, by one request. Does nothing where a later candidate may
   * go before it. Resolves with true if a candidate is known.
   */
  async lookUp(): Promise<boolean> {
    if (this.#byArrival) this.#known = this.#firstOf(await this.#list({ first: 2 }, {}));
    return this.#known !== undefined;
  }

  /**
   * Returns the candidate with this member id. Without an id, returns the next in succession, and
   * makes no request if `lookUp` has found it. That candidate may have left the queue since then,
   * and the release then looks for another one. A handover to a candidate that was named fails if
   * that candidate has left. Throws `NO_SUCH_CANDIDATE` if there is none, and `INVALID_NAME` for an
   * id that no member can have.
   */
  async choose(memberId: string | undefined, options: SignalOptions): Promise<ChosenSuccessor> {
    if (memberId !== undefined) checkName('memberId', memberId);
    else if (this.known !== undefined) return this.known;
    // The first two entries are enough: one of them may be the leader's own.
    const next = memberId === undefined && this.#byArrival ? this.#firstOf(await this.#list({ first: 2 }, options)) : undefined;
    if (next !== undefined) return { successor: next, early: false };
    const queue = await this.#list({}, options);
    const successor = successorAmong(queue, this.#leader.incarnation, this.#spec.succession, memberId);
    if (successor !== undefined) return { successor, early: false };
    throw noSuccessor(this.#spec.election, queue, this.#leader.incarnation, memberId);
  }

  /** Looks for the next in succession after the end. Undefined if there is no other candidate. */
  async findNext(): Promise<Successor | undefined> {
    const { candidates } = this.#spec.keys;
    if (this.#byArrival) {
      const first = this.#noted(await this.#calls.listAfterEnd(candidates, { first: 2 }));
      const next = this.#firstOf(first);
      if (next !== undefined || first.length < 2) return next;
    }
    return this.#firstOf(this.#noted(await this.#calls.listAfterEnd(candidates, {})));
  }

  /**
   * Returns the member id of the first candidate if it goes before this leader in the order of
   * succession.
   */
  async preferred(): Promise<string | undefined> {
    const { key, incarnation } = this.#leader;
    const queue = inSuccession(await this.#list({}, {}), this.#spec.succession);
    const first = queue.find((candidate) => candidate.entry.key === key || candidate.incarnation !== incarnation);
    return first?.entry.key === key ? undefined : first?.memberId;
  }

  get #byArrival(): boolean {
    return this.#spec.succession.byArrival;
  }

  async #list(part: Pick<ListOptions, 'first'>, options: SignalOptions): Promise<readonly Entry[]> {
    return this.#noted(await this.#calls.list(this.#spec.keys.candidates, part, options));
  }

  #noted(queue: readonly Entry[]): readonly Entry[] {
    const { key, incarnation, onOtherEntry } = this.#leader;
    for (const entry of queue) if (entry.key !== key && readName(entry.name)?.incarnation === incarnation) onOtherEntry(entry.key);
    return queue;
  }

  #firstOf(queue: readonly Entry[]): Successor | undefined {
    return successorAmong(queue, this.#leader.incarnation, this.#spec.succession);
  }
}

/**
 * The error of a handover that the store refused, or whose outcome is unknown: the store may have
 * applied the swap, and has answered no read since.
 */
export function handoverError({ memberId, incarnation }: Successor): IncumbentError {
  return new IncumbentError('HANDOVER_FAILED', `the store has not confirmed the handover to "${memberId}"`, {
    details: { memberId, incarnation },
  });
}

/** An operator's request in the leader's entry, and how the leader hands over. */
export interface HandoverRequest {
  readonly election: string;
  readonly term: bigint;
  /** The member id of the candidate. */
  readonly to: string;
  /** Aborts when the leadership ends. */
  readonly signal: AbortSignal;
  /** False once the leadership has ended, or the operator has changed the request. */
  readonly isOpen: () => boolean;
  readonly handOver: () => Promise<void>;
}

/**
 * Hands over as an operator has requested. If the store fails before the leadership has ended,
 * tries again: the operator has written the request once, and waits. Never rejects.
 */
export async function handOverAsRequested({ clock, timing, telemetry }: SessionContext, request: HandoverRequest): Promise<void> {
  const { election, term, to, signal, isOpen, handOver } = request;
  telemetry.emit('handoverRequested', { election, term, to });
  do {
    try {
      return await handOver();
    } catch (error) {
      telemetry.emitOften('retry', { doing: 'requestedHandover', election, term, to, error }, clock.monotonic());
      if (!isRetryable(error)) return;
    }
    await sleep(clock, timing.retryEveryMs, signal);
  } while (isOpen());
}
