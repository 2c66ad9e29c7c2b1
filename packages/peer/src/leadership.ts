/** The handle that a leader holds, for one term or one round. */

import { type Clock, IncumbentError } from '@incumbent/core';
import { checkFloor, Drain, explainDetached, type Telemetry, withJson } from '@incumbent/core/adapter';
import { isGivenUp, type PeerEndReason, type RoundOf, type Safety, type TermOf, type Validity } from './algorithm.ts';
import type { Driver } from './driver.ts';

/** How a leadership ended, and what may explain it. */
export interface PeerLeadershipEnd<S extends Safety> {
  readonly term: TermOf<S>;
  readonly round: RoundOf<S>;
  readonly reason: PeerEndReason;
  /** False for `resigned`, `workFailed`, `handover` and `memberClosed`. True otherwise. */
  readonly lost: boolean;
  /**
   * The start of the last period for which the others vouched, on the wall clock, in ms since the
   * epoch.
   */
  readonly lastVouchedAt: number;
  /**
   * The longest time since then for which this process ran no timers, in ms. A blocked event loop
   * is the most common cause of a loss.
   */
  readonly loopBlockedMs: number;
  /** With `termBehind`: the term that the fence has seen. */
  readonly seenTerm?: bigint;
  /** With `workFailed`: what the work threw. */
  readonly error?: unknown;
}

export interface LeadershipContext<S extends Safety> {
  readonly memberId: string;
  readonly driver: Driver<S>;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly validity: Validity<S>;
}

/**
 * One term of leadership, or one round. While `isValid()` returns true, no other member's
 * leadership is valid: certainly with the safety `quorum`, as long as clocks keep their rates; as
 * far as the members know with `bestEffort`.
 */
export class PeerLeadership<S extends Safety = Safety> {
  /**
   * With `quorum`: the number of this leadership, from 1n, higher than every earlier one. It is the
   * fencing token: send it with every write. A `Fence` accepts it.
   */
  readonly term: TermOf<S>;
  /** With `bestEffort`: a hint of which leadership is newer. No `Fence` accepts it. */
  readonly round: RoundOf<S>;
  readonly memberId: string;
  /**
   * Aborts when `isValid()` becomes false. The reason is an `IncumbentError` with the code
   * `LEADERSHIP_ENDED`; its `details` are the `PeerLeadershipEnd`.
   */
  readonly signal: AbortSignal;
  /** Resolves with the reason when `isValid()` becomes false. Never rejects. */
  readonly ended: Promise<PeerLeadershipEnd<S>>;
  /** Resolves after the drain, when the other members have been informed. Never rejects. */
  readonly released: Promise<void>;

  readonly #driver: Driver<S>;
  readonly #clock: Clock;
  readonly #telemetry: Telemetry;
  readonly #abort = new AbortController();
  readonly #end = Promise.withResolvers<PeerLeadershipEnd<S>>();
  readonly #done = Promise.withResolvers<void>();
  readonly #drain: Drain;
  readonly #letGo: () => void;
  readonly #forMs: number;
  #successor: string | undefined;
  /** What the end has to say for the reasons `termBehind` and `workFailed`. */
  #facts: Pick<PeerLeadershipEnd<S>, 'seenTerm' | 'error'> = {};
  /** Whether telemetry has reported that it began, and so reports that it ended. */
  #isReported = false;

  static {
    explainDetached(PeerLeadership, 'leadership');
  }

  /** @internal */
  constructor({ memberId, driver, clock, telemetry, validity }: LeadershipContext<S>) {
    this.term = validity.term;
    this.round = validity.round;
    this.memberId = memberId;
    this.signal = this.#abort.signal;
    this.ended = this.#end.promise;
    this.released = this.#done.promise;
    this.#driver = driver;
    this.#clock = clock;
    this.#telemetry = telemetry;
    this.#forMs = validity.forMs;
    this.#drain = new Drain(clock);
    this.#letGo = clock.keepAlive();
  }

  /**
   * True while this leadership holds. With `quorum`, it certainly holds: a majority has answered
   * recently enough. By best effort: this member has announced recently enough that it leads, and
   * has met no leader that has precedence. Synchronous. Reads both clocks on each call, so a
   * process that was paused never gets a stale true. Once false, it stays false.
   */
  isValid(): boolean {
    return !this.signal.aborted && this.#driver.isValid();
  }

  /** How long `isValid()` stays true if no member answers any more, in ms. 0 after the end. */
  remainingMs(): number {
    return this.signal.aborted ? 0 : this.#driver.remainingMs();
  }

  /**
   * `suspect`: half of the time for which the other members vouched is over, and they have not
   * vouched again. Start no long work then.
   */
  get state(): 'valid' | 'suspect' | 'ended' {
    const leftMs = this.remainingMs();
    if (leftMs === 0) return 'ended';
    return leftMs < this.#forMs / 2 ? 'suspect' : 'valid';
  }

  /** The facts for a log: `JSON.stringify` cannot write a term, which is a bigint. */
  toJSON(): { readonly term?: string; readonly round: RoundOf<S>; readonly memberId: string; readonly state: string } {
    const term = this.term === undefined ? {} : { term: String(this.term) };
    return { ...term, round: this.round, memberId: this.memberId, state: this.state };
  }

  /** @throws `LEADERSHIP_ENDED` if `isValid()` is false. */
  assertValid(): void {
    if (!this.isValid()) throw this.signal.reason;
  }

  /**
   * Keeps the drain open until the promise settles, for `drainMs` at most. `lead` does this for its
   * work. If this is a term of `lead`, the member does not campaign again before the promise has
   * settled.
   */
  waitUntil(work: Promise<unknown>): void {
    void this.#drain.add(work);
  }

  /** @internal Knows the work of this term, which may outlive the term. */
  get drain(): Drain {
    return this.#drain;
  }

  /**
   * Reports a term that a fence has seen. A term above this one ends the leadership with the reason
   * `termBehind`, and every later term of this member is higher than the reported one, also if the
   * leadership has ended before. Does nothing without terms.
   *
   * @throws `INVALID_OPTION` for a term above `2n ** 61n`: no fence can have seen it. The
   * leadership goes on.
   */
  reportTerm(seen: bigint): void {
    checkFloor('seen', seen);
    if (this.term === undefined || seen <= this.term) return;
    if (this.isValid()) {
      this.#facts = { seenTerm: seen };
      this.#driver.end('termBehind');
    }
    this.#driver.command({ type: 'seen', term: seen });
  }

  /**
   * Gives the leadership up; the candidates campaign at once. Calling this asserts that your work
   * has stopped: only promises passed to `waitUntil` are awaited. Resolves when the other members
   * have been informed. Idempotent. After a loss it ends the drain.
   */
  async resign(): Promise<void> {
    this.#drain.workStopped();
    await this.resignWhenDrained('resigned');
  }

  /** @internal Resigns on another's request: the work of `lead` is aborted and awaited. */
  async resignWhenDrained(reason: 'resigned' | 'memberClosed'): Promise<void> {
    this.#driver.end(reason);
    await this.released;
  }

  /** @internal Resigns because the work of `lead` threw this error. */
  async resignAfterFailure(error: unknown): Promise<void> {
    this.#facts = { error };
    this.#driver.end('workFailed');
    await this.released;
  }

  /**
   * @internal Hands over to the best candidate, or resigns if there is none. The work of `lead` is
   * aborted and awaited.
   */
  async transferOrResign(): Promise<void> {
    const successor = this.isValid() ? this.#driver.successor(undefined) : undefined;
    if (successor === undefined) return this.resignWhenDrained('memberClosed');
    this.#successor = successor;
    this.#driver.end('handover');
    return this.released;
  }

  /**
   * Hands the leadership over to the member with this id, or to the best candidate. `isValid()`
   * becomes false, the promises passed to `waitUntil` drain, then the successor is informed.
   * Resolves when the message has been sent. If it is lost, the members elect after an election
   * timeout.
   *
   * @throws `NO_SUCH_CANDIDATE` if that member does not campaign, has not answered recently, or
   * lacks data; the message names the reason. The leadership goes on.
   */
  async handover(memberId?: string): Promise<void> {
    this.assertValid();
    const successor = this.#driver.successor(memberId);
    if (successor === undefined) throw noCandidate(memberId, this.#driver.whyNoSuccessor(memberId));
    this.#drain.workStopped();
    this.#successor = successor;
    this.#driver.end('handover');
    await this.released;
  }

  /**
   * @internal Reports that this leadership has begun. A leadership that is over by then, because
   * its vote took too long to write, was never valid: telemetry reports neither its beginning nor
   * its end.
   */
  report(): void {
    if (!this.isValid()) return;
    this.#isReported = true;
    this.#telemetry.emit('elected', { term: this.term, round: this.round });
  }

  /** @internal The driver calls this when the leadership is no longer valid. */
  finish(reason: PeerEndReason, { from, forMs, safeForMs }: Validity<S>): void {
    const lost = !isGivenUp(reason);
    // The deadline may have come first.
    const facts = reason === 'termBehind' || reason === 'workFailed' ? this.#facts : {};
    const loopBlockedMs = Math.round(this.#driver.loopBlockedMs);
    const end = withJson({ term: this.term, round: this.round, reason, lost, lastVouchedAt: from.wallMs, loopBlockedMs, ...facts });
    const what = this.term === undefined ? 'a leadership' : `the leadership of term ${this.term}`;
    this.#abort.abort(new IncumbentError('LEADERSHIP_ENDED', `${what} has ended: ${reason}`, { details: { ...end } }));
    this.#end.resolve(end);
    if (this.#isReported) this.#telemetry.emit('ended', end);
    void this.#release(Math.min(this.#clock.monotonic() + safeForMs - forMs, from.monotonicMs + safeForMs), lost);
  }

  async #release(untilMs: number, lost: boolean): Promise<void> {
    const stopped = await this.#drain.wait(untilMs, lost);
    const number = { term: this.term, round: this.round };
    if (!stopped && this.#isReported) this.#telemetry.emit('stuck', number);
    this.#driver.command({ type: 'release', to: this.#successor });
    if (this.#isReported) this.#telemetry.emit('released', number);
    this.#letGo();
    this.#done.resolve();
  }
}

function noCandidate(memberId: string | undefined, why: string): IncumbentError {
  const to = memberId === undefined ? '' : ` to "${memberId}"`;
  return new IncumbentError('NO_SUCH_CANDIDATE', `cannot hand over${to}: ${why}`);
}
