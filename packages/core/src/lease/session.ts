/**
 * A member's lease, and how long it is certainly live. `isValid()` reads both clocks on every call,
 * so late timers, a slow network or a blocked event loop cannot keep it true past the deadline.
 * Once false, it stays false.
 */

import { type Cancel, type Clock, type Moment, momentOf } from '../base/clock.ts';
import { isIncumbentError, StoreError } from '../base/errors.ts';
import { fraction, type Random } from '../base/random.ts';
import type { Telemetry } from '../base/telemetry.ts';
import type { CallOptions, Lease, LeaseId, Store } from '../store/contract.ts';
import { Deadline } from './deadline.ts';
import { LoopLag } from './loop-lag.ts';
import type { ReaperMemberHandle, WatchedLease } from './reaper.ts';
import type { RenewedLease, RenewerMemberHandle } from './renewer.ts';
import { checkGranted, validMs, marginMs, maxAgeAtRenewalMs, RETRY_SPREAD, type Timing } from './timing.ts';

/** Why a session ended. */
export type SessionEndReason =
  /** No renewal was acknowledged in time. */
  | 'deadline'
  /** The store said that the lease is gone. */
  | 'leaseExpired'
  /**
   * The wall clock passed the deadline before the monotonic one: the machine was suspended, or its
   * clock set forward.
   */
  | 'clockJump'
  /** Another process took the member id (`onDuplicate: 'replace'`). */
  | 'replaced'
  /** The member was closed. */
  | 'memberClosed';

/** How a session ended, with the facts that may explain it. */
export interface SessionEnd {
  readonly reason: SessionEndReason;
  /** When the last acknowledged renewal was sent, by the wall clock, in ms since the epoch. */
  readonly lastRenewalAt: number;
  /** How long before the end that renewal was sent, in whole ms, by the clock that shows more. */
  readonly sinceRenewalMs: number;
  /** The longest time that the event loop was blocked since then, in whole ms. */
  readonly loopBlockedMs: number;
  /** The store's errors since then, the latest last, at most 8. */
  readonly errors: readonly unknown[];
}

/** What a member passes to everything that it starts. */
export interface SessionContext {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly timing: Timing;
  readonly telemetry: Telemetry;
  /** Learns of every lease, from its grant to its end. */
  readonly reaper?: ReaperMemberHandle | undefined;
  /** Renews every lease while the event loop is blocked. */
  readonly renewer?: RenewerMemberHandle | undefined;
}

const KEPT_ERRORS = 8;
/** How often per ttl the session reads both clocks and measures the lag of the event loop. */
const CLOCK_CHECKS_PER_TTL = 20;

/** One lease from its grant to its end, with the loop that renews it. */
export class LeaseSession {
  readonly lease: LeaseId;
  readonly #context: SessionContext;
  readonly #clock: Clock;
  readonly #reaperLease: WatchedLease | undefined;
  readonly #renewerLease: RenewedLease | undefined;
  readonly #listeners = new Set<(end: SessionEnd) => void>();
  readonly #timers = new Set<Cancel>();
  readonly #over = new AbortController();
  #ttlMs: number;
  #validFrom: Moment;
  readonly #deadline: Deadline;
  #end: SessionEnd | undefined;
  #suspect = false;
  #leaseGone = false;
  #renewing: Promise<boolean> | undefined;
  #errors: unknown[] = [];
  readonly #loopLag: LoopLag;

  constructor(context: SessionContext, lease: Lease) {
    this.#context = context;
    this.#clock = context.clock;
    this.lease = lease.id;
    this.#reaperLease = context.reaper?.watch(lease.id);
    this.#renewerLease = context.renewer?.renew(lease.id, lease);
    this.#ttlMs = lease.ttlMs;
    this.#validFrom = lease.validFrom;
    this.#loopLag = new LoopLag(context.timing.ttlMs / CLOCK_CHECKS_PER_TTL, context.clock.monotonic());
    this.#deadline = new Deadline(context.clock, lease.validFrom, validMs(lease.ttlMs, context.timing));
    this.#tellReaper();
  }

  /** Announces the session, and starts the renewals. */
  start(): void {
    const expiresWithinMs = this.#context.store.capabilities.expiresWithinMs(this.#ttlMs);
    const validForMs = Math.max(this.#deadline.remainingMs(), 0);
    this.#context.telemetry.emit('sessionOpened', { lease: this.lease, ttlMs: this.#ttlMs, expiresWithinMs, validForMs });
    this.#renewIn(this.#renewEveryMs() - this.#ageMs());
    this.#watchDeadline();
    this.#checkClocks();
  }

  /**
   * True while the store certainly keeps the lease and there is time left to stop. Synchronous.
   * Once false, it stays false. The first call after the deadline ends the session: it calls the
   * tasks of `onEnd` before it returns. So do `remainingMs` and `suspect`.
   */
  isValid(): boolean {
    if (this.#end !== undefined) return false;
    if (this.#deadline.remainingMs() > 0 || this.#extendByRenewer()) return true;
    this.#passDeadline();
    return false;
  }

  /** How long the session stays valid without another renewal, in ms. 0 when it is not valid. */
  remainingMs(): number {
    return this.isValid() ? this.#deadline.remainingMs() : 0;
  }

  /** True if a renewal is overdue and the deadline has not passed. */
  get suspect(): boolean {
    return this.isValid() && (this.#suspect || this.#ageMs() > this.#suspectAfterMs());
  }

  /** How it ended. Undefined while it lives. */
  get ended(): SessionEnd | undefined {
    return this.#end;
  }

  /** True if the store has said that the lease is gone, so that nothing is left to revoke. */
  get leaseGone(): boolean {
    return this.#leaseGone;
  }

  /** The options of calls made on behalf of this session: they abort when the session ends. */
  get call(): CallOptions & { readonly signal: AbortSignal } {
    return { timeoutMs: this.#context.timing.callTimeoutMs, signal: this.#over.signal };
  }

  /**
   * The moment on the monotonic clock, in ms, until which the store certainly keeps the lease.
   * Every drain ends by then.
   */
  get safeUntil(): number {
    return this.#validFrom.monotonicMs + this.#ttlMs - marginMs(this.#ttlMs, this.#context.timing.clockErrorRatio);
  }

  /** The facts that explain a loss, as of now. */
  report(): Omit<SessionEnd, 'reason'> {
    const { monotonicMs, wallMs } = momentOf(this.#clock);
    const { monotonicMs: sentMs, wallMs: lastRenewalAt } = this.#validFrom;
    return {
      lastRenewalAt: Math.round(lastRenewalAt),
      sinceRenewalMs: Math.round(Math.max(monotonicMs - sentMs, wallMs - lastRenewalAt)),
      loopBlockedMs: Math.round(this.#loopLag.longestMs(monotonicMs)),
      errors: [...this.#errors],
    };
  }

  /** Runs `task` when the session ends, or at once if it has ended. */
  onEnd(task: (end: SessionEnd) => void): Cancel {
    if (this.#end !== undefined) {
      task(this.#end);
      return () => {};
    }
    this.#listeners.add(task);
    return () => void this.#listeners.delete(task);
  }

  /** Ends the session at once. The caller revokes the lease after the drains. */
  end(reason: SessionEndReason): void {
    if (this.#end !== undefined) return;
    this.#end = { reason, ...this.report() };
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
    this.#renewerLease?.ended();
    this.#context.telemetry.emit('sessionEnded', { lease: this.lease, ...this.#end });
    const listeners = [...this.#listeners];
    this.#listeners.clear();
    for (const listener of listeners) listener(this.#end);
    this.#over.abort(new StoreError('LEASE_EXPIRED', 'unknown', 'the session that this call was made for has ended'));
    this.#reaperLease?.ended();
  }

  /**
   * Lets the reaper forget the session. Called when the lease is revoked, gone or left to expire,
   * and no work of its leaderships drains any more.
   */
  forget(): void {
    this.#reaperLease?.forget();
  }

  /** Renews the lease now, to ask the store whether it is live. True if it is. */
  async check(): Promise<boolean> {
    await this.#renewOnce();
    return this.isValid();
  }

  /** Keeps the error of a failed call, to explain a loss. */
  keepError(error: unknown): void {
    this.#errors = [...this.#errors.slice(1 - KEPT_ERRORS), error];
  }

  /**
   * Called when a call that used this lease and no other has failed. Keeps the error. If the store
   * says that the lease is gone, ends the session.
   */
  callFailed(error: unknown): void {
    this.keepError(error);
    if (!isIncumbentError(error, 'LEASE_EXPIRED')) return;
    this.#leaseGone = true;
    this.end('leaseExpired');
  }

  /**
   * Called after the deadline. Moves the deadline if the renewer has renewed the lease while the
   * event loop was blocked, and notes whether the wall clock was set back. True if there is time
   * left then.
   */
  #extendByRenewer(): boolean {
    const renewal = this.#renewerLease?.latest();
    if (renewal === undefined || renewal.validFrom.monotonicMs <= this.#validFrom.monotonicMs) return false;
    this.#deadline.readClocks();
    this.#extendFrom(renewal.validFrom, renewal.ttlMs);
    const validForMs = this.#deadline.remainingMs();
    if (validForMs > 0) this.#context.telemetry.emit('sessionKept', { lease: this.lease, validForMs });
    return validForMs > 0;
  }

  #extendFrom(validFrom: Moment, ttlMs: number): void {
    this.#validFrom = validFrom;
    this.#ttlMs = ttlMs;
    this.#deadline.moveTo(validFrom, validMs(ttlMs, this.#context.timing));
    this.#tellReaper();
  }

  #tellReaper(): void {
    const overBy = this.#validFrom.monotonicMs + this.#context.store.capabilities.expiresWithinMs(this.#ttlMs);
    this.#reaperLease?.renewed({ safeUntil: this.safeUntil, overBy });
  }

  /** Ends the session. Clocks that differ by no more than the margin have not jumped. */
  #passDeadline(): void {
    const leastJumpMs = marginMs(this.#ttlMs, this.#context.timing.clockErrorRatio);
    this.end(this.#deadline.remainingMonotonicMs() <= leastJumpMs ? 'deadline' : 'clockJump');
  }

  #ageMs(): number {
    return this.#clock.monotonic() - this.#validFrom.monotonicMs;
  }

  /**
   * The interval of renewals. Shorter, in proportion, if the store granted a shorter lease than
   * requested.
   */
  #renewEveryMs(): number {
    const { renewEveryMs, ttlMs } = this.#context.timing;
    return renewEveryMs * Math.min(1, this.#ttlMs / ttlMs);
  }

  #suspectAfterMs(): number {
    const { store, timing } = this.#context;
    return maxAgeAtRenewalMs(this.#renewEveryMs(), this.#ttlMs, store.capabilities) + timing.callTimeoutMs;
  }

  #in(delayMs: number, task: () => void): void {
    if (this.#end !== undefined) return;
    const cancel = this.#clock.schedule(Math.max(delayMs, 1), () => {
      this.#timers.delete(cancel);
      task();
    });
    this.#timers.add(cancel);
  }

  #renewIn(delayMs: number): void {
    this.#in(delayMs, () => void this.#renew());
  }

  /**
   * Renews, and schedules the next renewal: at the usual time after a success, soon after a
   * failure.
   */
  async #renew(): Promise<void> {
    const sent = this.#clock.monotonic();
    const renewed = await this.#renewOnce();
    if (renewed) this.#renewIn(this.#renewEveryMs() - this.#tookMs(sent));
    else this.#renewIn(this.#context.timing.retryEveryMs * (1 - RETRY_SPREAD + 2 * RETRY_SPREAD * fraction(this.#context.random)));
  }

  /**
   * How much to take off the time to the next renewal, as the answer took so long. 0 if an
   * acknowledgement proves only an earlier renewal.
   */
  #tookMs(sent: number): number {
    const { renewalLag = 0 } = this.#context.store.capabilities;
    return renewalLag === 0 ? this.#clock.monotonic() - sent : 0;
  }

  /** At most one renewal is in flight. Renewals never wait for other calls. */
  async #renewOnce(): Promise<boolean> {
    this.#renewing ??= this.#callRenew().finally(() => {
      this.#renewing = undefined;
    });
    return this.#renewing;
  }

  async #callRenew(): Promise<boolean> {
    if (!this.isValid()) return false;
    const { store, timing } = this.#context;
    const at = this.#deadline.readClocks();
    try {
      const timeoutMs = Math.max(Math.floor(Math.min(timing.callTimeoutMs, this.remainingMs())), 1);
      const { validFrom, ttlMs } = await store.renewLease(this.lease, { ...this.call, at, timeoutMs });
      this.#renewed(validFrom, ttlMs, at);
      return true;
    } catch (error) {
      this.#renewalFailed(error);
      return false;
    }
  }

  /** Ignores an answer that arrives after the deadline: the leadership has ended. */
  #renewed(validFrom: Moment, ttlMs: number, sent: Moment): void {
    if (!this.isValid()) return;
    if (validFrom.monotonicMs >= this.#validFrom.monotonicMs) this.#extendFrom(validFrom, ttlMs);
    this.#renewerLease?.renewed({ validFrom, ttlMs });
    this.#errors = [];
    this.#loopLag.forget(this.#clock.monotonic());
    if (this.#suspect) this.#context.telemetry.emit('sessionRecovered', { lease: this.lease });
    this.#suspect = false;
    const tookMs = this.#clock.monotonic() - sent.monotonicMs;
    this.#context.telemetry.emit('sessionRenewed', { lease: this.lease, tookMs, validForMs: this.remainingMs() });
  }

  #renewalFailed(error: unknown): void {
    if (this.#end !== undefined) return;
    this.callFailed(error);
    if (!this.isValid()) return;
    if (!this.#suspect)
      this.#context.telemetry.emit('sessionSuspect', { lease: this.lease, remainingMs: Math.round(this.remainingMs()), error });
    this.#suspect = true;
  }

  /** Wakes at the deadline: `remainingMs` ends the session, or returns the time to a new one. */
  #watchDeadline(): void {
    this.#in(this.remainingMs(), () => this.#watchDeadline());
  }

  /**
   * Reads both clocks regularly, to notice a jump while nobody calls `isValid()`, and measures how
   * late its own timer is.
   */
  #checkClocks(): void {
    this.#in(this.#loopLag.everyMs, () => {
      const { monotonicMs } = this.#deadline.readClocks();
      this.#renewerLease?.beat();
      const lateMs = this.#loopLag.beat(monotonicMs);
      if (lateMs > this.#context.timing.ttlMs / 10)
        this.#context.telemetry.emitOften('loopLag', { blockedMs: Math.round(lateMs) }, monotonicMs);
      if (this.isValid()) this.#checkClocks();
    });
  }
}

/** What the opening of a session needs. */
export interface OpeningContext extends SessionContext {
  readonly signal: AbortSignal;
  /** Aborts when every call must stop, also those that clean up. */
  readonly over: AbortSignal;
}

/**
 * Opens a session: takes a lease and calls `begin`. Rejects as the store or `begin` does; then it
 * has ended the session and revoked the lease.
 */
export async function openSession(
  context: OpeningContext,
  begin: (session: LeaseSession, ttlMs: number) => Promise<void> | void,
): Promise<LeaseSession> {
  const { store, clock, timing } = context;
  const lease = await store.grantLease(timing.ttlMs, { at: momentOf(clock), timeoutMs: timing.callTimeoutMs, signal: context.signal });
  const session = new LeaseSession(context, lease);
  session.start();
  try {
    checkGranted(lease.ttlMs, timing, store);
    await begin(session, lease.ttlMs);
    return session;
  } catch (error) {
    session.end('memberClosed');
    await store.revokeLease(lease.id, { timeoutMs: timing.callTimeoutMs, signal: context.over }).catch(() => {});
    session.forget();
    throw error;
  }
}
