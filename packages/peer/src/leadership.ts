/** The handle that a leader holds, for one term or one round. */

import { type Clock, IncumbentError } from '@incumbent/core';
import { checkFloor, Drain, type Telemetry } from '@incumbent/core/adapter';
import type { Belief, PeerEndReason, RoundOf, Safety, TermOf } from './algorithm.ts';
import type { Driver } from './driver.ts';

/** How a leadership ended, and what may explain it. */
export interface PeerLeadershipEnd<S extends Safety> {
  readonly term: TermOf<S>;
  readonly round: RoundOf<S>;
  readonly reason: PeerEndReason;
  /** True unless it was given up: by resigning, by a handover, or by closing the member. */
  readonly lost: boolean;
  /** From when the others vouched for it last, by the wall clock, in ms since the epoch. */
  readonly lastVouchedAt: number;
  /** How long this process ran no timers, at most, since then, in ms: an event loop that is blocked is the commonest cause of a loss. */
  readonly loopBlockedMs: number;
  /** With `termBehind`: the term that the fence has seen. */
  readonly seenTerm?: bigint;
}

export interface LeadershipContext<S extends Safety> {
  readonly memberId: string;
  readonly driver: Driver<S>;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly belief: Belief<S>;
}

/**
 * A time in office. While `isValid()` says so, no other member believes that it leads: certainly, where `safety` is `quorum` and clocks keep their rates;
 * as far as anybody knows, where it is `bestEffort`.
 */
export class PeerLeadership<S extends Safety = Safety> {
  /** With `quorum`: this leadership's number, from 1, higher than any before. Send it along with everything the leader does; a `Fence` takes it. */
  readonly term: TermOf<S>;
  /** With `bestEffort`: a hint of which leadership is newer. No fence takes it. */
  readonly round: RoundOf<S>;
  readonly memberId: string;
  /** Aborts when belief ends. Its reason is an `IncumbentError` with the code `LEADERSHIP_ENDED`, and the `PeerLeadershipEnd` as `details`. */
  readonly signal: AbortSignal;
  /** Resolves when belief ends, with the reason. Never rejects. */
  readonly ended: Promise<PeerLeadershipEnd<S>>;
  /** Resolves when the drain is over and the others have been told. Never rejects. */
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
  #heir: string | undefined;
  #seenTerm: bigint | undefined;
  /** Whether telemetry has reported that it began, and so reports that it ended. */
  #isReported = false;

  /** @internal */
  constructor({ memberId, driver, clock, telemetry, belief }: LeadershipContext<S>) {
    this.term = belief.term;
    this.round = belief.round;
    this.memberId = memberId;
    this.signal = this.#abort.signal;
    this.ended = this.#end.promise;
    this.released = this.#done.promise;
    this.#driver = driver;
    this.#clock = clock;
    this.#telemetry = telemetry;
    this.#forMs = belief.forMs;
    this.#drain = new Drain(clock);
    this.#letGo = clock.keepAlive();
  }

  /**
   * Whether this leadership stands: synchronous. With `quorum`: certainly, as a majority has answered lately enough. By best effort: it has said lately enough that
   * it leads, and has met nobody that goes before it. It reads both clocks on each call, so a paused process is never told a stale true. Once false, always false.
   */
  isValid(): boolean {
    return !this.signal.aborted && this.#driver.isValid();
  }

  /** How long it stays valid if nobody answers any more, in ms; 0 when it has ended. */
  remainingMs(): number {
    return this.signal.aborted ? 0 : this.#driver.remainingMs();
  }

  /** `suspect`: half of the time for which the others vouched is over, and they have not done so again; start nothing that takes long. */
  get state(): 'valid' | 'suspect' | 'ended' {
    const leftMs = this.remainingMs();
    if (leftMs === 0) return 'ended';
    return leftMs < this.#forMs / 2 ? 'suspect' : 'valid';
  }

  /** Throws `LEADERSHIP_ENDED` unless `isValid()`. */
  assertValid(): void {
    if (!this.isValid()) throw this.signal.reason;
  }

  /** Keeps the drain open until the promise settles, for as long as the drain may last. `lead` does this for its work. */
  waitUntil(work: Promise<unknown>): void {
    void this.#drain.add(work);
  }

  /** @internal The work of `lead`: waited for like any other, but when the work itself resigns or hands over. */
  runs(work: Promise<unknown>): void {
    this.#drain.trackLeadWork(work);
  }

  /**
   * Tells of a term that a fence has seen. If that term is newer than this one, leadership ends as
   * `termBehind`, and each later term of this member is newer still. Once leadership has ended, and
   * without terms, it does nothing. A term beyond `2n ** 61n` is taken to be false: it is refused
   * with a `RangeError` (`INVALID_OPTION`), and leadership goes on.
   */
  reportTerm(seen: bigint): void {
    checkFloor('seen', seen);
    if (this.term === undefined || seen <= this.term || !this.isValid()) return;
    this.#seenTerm = seen;
    this.#driver.end('termBehind');
    this.#driver.command({ type: 'seen', term: seen });
  }

  /**
   * Gives leadership up; those who stand for election do so at once. It is the work's own word that it has stopped: nothing is waited for but what
   * `waitUntil` was given. Resolves when the others have been told. Idempotent; on a lost leadership it ends the drain.
   */
  async resign(): Promise<void> {
    this.#drain.workStopped();
    await this.giveUp('resigned');
  }

  /** @internal The same, at somebody else's wish: the work of `lead` is told, and waited for. */
  async giveUp(reason: 'resigned' | 'memberClosed'): Promise<void> {
    this.#driver.end(reason);
    await this.released;
  }

  /** @internal Hands over to the fittest, if there is one; the work of `lead` is told, and waited for. */
  async passOn(): Promise<void> {
    const heir = this.isValid() ? this.#driver.heir(undefined) : undefined;
    if (heir === undefined) return this.giveUp('memberClosed');
    this.#heir = heir;
    this.#driver.end('handover');
    return this.released;
  }

  /**
   * Gives leadership up in favour of a member: of this id, or the fittest. Rejects with `NO_SUCH_CANDIDATE`, and leadership goes on, if that one does not
   * campaign, has not answered lately, or lacks data. Then belief ends, what `waitUntil` was given drains, and the heir is told. Resolves when it has been;
   * an heir that does not hear of it is as a resignation that nobody has heard of: the others elect when they have waited for long enough.
   */
  async handover(memberId?: string): Promise<void> {
    this.assertValid();
    const heir = this.#driver.heir(memberId);
    if (heir === undefined) throw noCandidate(memberId);
    this.#drain.workStopped();
    this.#heir = heir;
    this.#driver.end('handover');
    await this.released;
  }

  /**
   * @internal Reports that this leadership has begun. A leadership that is over by then, because its
   * vote took too long to write, was never valid: telemetry reports neither its beginning nor its end.
   */
  report(): void {
    if (!this.isValid()) return;
    this.#isReported = true;
    this.#telemetry.emit('elected', { term: this.term, round: this.round });
  }

  /** @internal Belief has ended. */
  finish(reason: PeerEndReason, { from, forMs, safeForMs }: Belief<S>): void {
    const lost = reason !== 'resigned' && reason !== 'handover' && reason !== 'memberClosed';
    const seen = this.#seenTerm === undefined ? {} : { seenTerm: this.#seenTerm };
    const loopBlockedMs = Math.round(this.#driver.loopBlockedMs);
    const end = { term: this.term, round: this.round, reason, lost, lastVouchedAt: from.wallMs, loopBlockedMs, ...seen };
    const what = this.term === undefined ? 'a leadership' : `the leadership of term ${this.term}`;
    this.#abort.abort(new IncumbentError('LEADERSHIP_ENDED', `${what} has ended: ${reason}`, { details: end }));
    this.#end.resolve(end);
    if (this.#isReported) this.#telemetry.emit('ended', end);
    void this.#release(Math.min(this.#clock.monotonic() + safeForMs - forMs, from.monotonicMs + safeForMs), lost);
  }

  async #release(untilMs: number, lost: boolean): Promise<void> {
    const stopped = await this.#drain.wait(untilMs, lost);
    const number = { term: this.term, round: this.round };
    if (!stopped && this.#isReported) this.#telemetry.emit('stuck', number);
    this.#driver.command({ type: 'release', to: this.#heir });
    if (this.#isReported) this.#telemetry.emit('released', number);
    this.#letGo();
    this.#done.resolve();
  }
}

function noCandidate(memberId: string | undefined): IncumbentError {
  const who = memberId === undefined ? 'no member' : `the member "${memberId}" is none that`;
  return new IncumbentError('NO_SUCH_CANDIDATE', `${who} campaigns, has answered lately, and has data as new as any`);
}
