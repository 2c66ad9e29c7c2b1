/**
 * A member's one live lease, and the belief that hangs on it. `isValid()` reads both clocks on every call: what timers, network or event loop
 * do cannot keep a belief alive past its deadline. Once it has answered false it never answers true again.
 */

import { type Cancel, type Clock, type Moment, momentOf } from '../base/clock.ts';
import { IncumbentError, isIncumbentError, StoreError } from '../base/errors.ts';
import { fraction, type Random } from '../base/random.ts';
import type { Telemetry } from '../base/telemetry.ts';
import type { CallOptions, Lease, LeaseId, Store } from '../store/contract.ts';
import type { KeyWatchContext } from '../store/key-watch.ts';
import { Deadline } from './deadline.ts';
import type { ReaperSeat, WatchedLease } from './reaper.ts';
import { validMs, marginMs, oldestMs, RETRY_SPREAD, type Timing } from './timing.ts';

/** Why a session ended. */
export type SessionEndReason =
  /** No renewal was acknowledged in time. */
  | 'deadline'
  /** The store said that the lease is gone. */
  | 'leaseExpired'
  /** The wall clock passed the deadline before the monotonic one: the machine was suspended, or its clock set forward. */
  | 'clockJump'
  /** Another process took the member id (`onDuplicate: 'replace'`). */
  | 'replaced'
  /** The member was closed. */
  | 'memberClosed';

export interface SessionEnd {
  readonly reason: SessionEndReason;
  /** When the last acknowledged renewal was sent, by the wall clock, in ms since the epoch. */
  readonly lastRenewalAt: number;
  /** The longest time that the event loop was blocked since then, as far as a timer could see, in ms. */
  readonly loopBlockedMs: number;
  /** The store's errors since then, the latest last, at most 8. */
  readonly errors: readonly unknown[];
}

export interface SessionContext {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly timing: Timing;
  readonly telemetry: Telemetry;
  /** Told of every lease, from its grant to its end. */
  readonly reaper?: ReaperSeat | undefined;
}

const KEPT_ERRORS = 8;
/** How often the event loop's lag is sampled and the wall clock looked at, in parts of the ttl. */
const PULSES_PER_TTL = 20;

export class LeaseSession {
  readonly lease: LeaseId;
  readonly #context: SessionContext;
  readonly #clock: Clock;
  readonly #watched: WatchedLease | undefined;
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
  #loopBlockedMs = 0;

  constructor(context: SessionContext, lease: Lease) {
    this.#context = context;
    this.#clock = context.clock;
    this.lease = lease.id;
    this.#watched = context.reaper?.watch(lease.id);
    this.#ttlMs = lease.ttlMs;
    this.#validFrom = lease.validFrom;
    this.#deadline = new Deadline(context.clock, lease.validFrom, validMs(lease.ttlMs, context.timing));
    this.#tellReaper();
  }

  /** Begins to renew. */
  start(): void {
    this.#renewIn(this.#renewEveryMs() - this.#ageMs());
    this.#watchDeadline();
    this.#pulse(this.#clock.monotonic());
  }

  /** Whether the store certainly still keeps the lease, with time left to stop. Synchronous, and final once false. */
  isValid(): boolean {
    if (this.#end !== undefined) return false;
    if (this.#deadline.remainingMs() > 0) return true;
    this.#passDeadline();
    return false;
  }

  /** How long it stays valid without another renewal, in ms; 0 when it is not. */
  remainingMs(): number {
    if (!this.isValid()) return 0;
    return this.#deadline.remainingMs();
  }

  /** A renewal is overdue, the deadline has not come. */
  get suspect(): boolean {
    return this.isValid() && (this.#suspect || this.#ageMs() > this.#suspectAfterMs());
  }

  get ended(): SessionEnd | undefined {
    return this.#end;
  }

  /** The store has said that the lease is gone: nothing is left to revoke. */
  get leaseGone(): boolean {
    return this.#leaseGone;
  }

  /** For calls made by virtue of this session: they end with it, and its lease, or the end of that, does what they would have done. */
  get call(): CallOptions & { readonly signal: AbortSignal } {
    return { timeoutMs: this.#context.timing.callTimeoutMs, signal: this.#over.signal };
  }

  /** Until when, on the monotonic clock, the store certainly keeps the lease: the end of every drain. */
  get safeUntil(): number {
    return this.#validFrom.monotonicMs + this.#ttlMs - marginMs(this.#ttlMs, this.#context.timing.clockErrorRatio);
  }

  /** What is known of this session now, for a loss to explain itself. */
  report(reason: SessionEndReason): SessionEnd {
    return {
      reason,
      lastRenewalAt: this.#validFrom.wallMs,
      loopBlockedMs: Math.round(this.#loopBlockedMs),
      errors: [...this.#errors],
    };
  }

  /** Runs `task` when the session ends; at once if it has. */
  onEnd(task: (end: SessionEnd) => void): Cancel {
    if (this.#end !== undefined) {
      task(this.#end);
      return () => {};
    }
    this.#listeners.add(task);
    return () => {
      this.#listeners.delete(task);
    };
  }

  /** Belief ends here and now. The lease itself is the caller's to revoke, after the drains. */
  end(reason: SessionEndReason): void {
    if (this.#end !== undefined) return;
    this.#end = this.report(reason);
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
    this.#context.telemetry.emit('sessionEnded', { lease: this.lease, ...this.#end });
    const listeners = [...this.#listeners];
    this.#listeners.clear();
    for (const listener of listeners) listener(this.#end);
    this.#over.abort(new StoreError('LEASE_EXPIRED', 'unknown', 'the session that this call was made for has ended'));
    this.#watched?.ended();
  }

  /** The lease is revoked, gone, or left to expire, and nothing drains that led by it. */
  settled(): void {
    this.#watched?.forget();
  }

  /** Asks the store now whether the lease still lives, by renewing it out of turn; true if it does. */
  async check(): Promise<boolean> {
    await this.#renewOnce();
    return this.isValid();
  }

  /** Notes a failed call, for a loss to explain itself. */
  note(error: unknown): void {
    this.#errors = [...this.#errors.slice(1 - KEPT_ERRORS), error];
  }

  /** Notes a failed call that named this lease and no other: if the store says that the lease is gone, so is the session. */
  noteOwn(error: unknown): void {
    this.note(error);
    if (!isIncumbentError(error, 'LEASE_EXPIRED')) return;
    this.#leaseGone = true;
    this.end('leaseExpired');
  }

  #extendFrom(validFrom: Moment, ttlMs: number): void {
    this.#validFrom = validFrom;
    this.#ttlMs = ttlMs;
    this.#deadline.reach(validFrom, validMs(ttlMs, this.#context.timing));
    this.#tellReaper();
  }

  #tellReaper(): void {
    const overBy = this.#validFrom.monotonicMs + this.#context.store.capabilities.expiresWithinMs(this.#ttlMs);
    this.#watched?.renewed({ safeUntil: this.safeUntil, overBy });
  }

  /** Clocks that merely run apart, within the error that is allowed for, have not jumped. */
  #passDeadline(): void {
    this.end(this.#deadline.monotonicallyMs() <= marginMs(this.#ttlMs, this.#context.timing.clockErrorRatio) ? 'deadline' : 'clockJump');
  }

  #ageMs(): number {
    return this.#clock.monotonic() - this.#validFrom.monotonicMs;
  }

  /** A store that granted less than was asked is renewed more often, in proportion. */
  #renewEveryMs(): number {
    const { renewEveryMs, ttlMs } = this.#context.timing;
    return renewEveryMs * Math.min(1, this.#ttlMs / ttlMs);
  }

  #suspectAfterMs(): number {
    const { store, timing } = this.#context;
    return oldestMs(this.#renewEveryMs(), this.#ttlMs, store.capabilities) + timing.callTimeoutMs;
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

  /** Renews, and sees to the next time: after a success when it is due, after a failure soon. */
  async #renew(): Promise<void> {
    const sent = this.#clock.monotonic();
    const renewed = await this.#renewOnce();
    if (renewed) this.#renewIn(this.#renewEveryMs() - this.#tookMs(sent));
    else this.#renewIn(this.#context.timing.retryEveryMs * (1 - RETRY_SPREAD + 2 * RETRY_SPREAD * fraction(this.#context.random)));
  }

  /** How much of the time to the next renewal an answer has taken: none where that next one vouches from what lies so far behind the answer. */
  #tookMs(sent: number): number {
    const { renewalLag = 0 } = this.#context.store.capabilities;
    return renewalLag === 0 ? this.#clock.monotonic() - sent : 0;
  }

  /** One renewal is in flight at a time, and nothing else is ever queued before it. */
  async #renewOnce(): Promise<boolean> {
    this.#renewing ??= this.#callRenew().finally(() => {
      this.#renewing = undefined;
    });
    return this.#renewing;
  }

  async #callRenew(): Promise<boolean> {
    if (!this.isValid()) return false;
    const { store, timing } = this.#context;
    const at = this.#deadline.look();
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

  /** An answer that comes after the deadline changes nothing: leadership has ended by then. */
  #renewed(validFrom: Moment, ttlMs: number, sent: Moment): void {
    if (!this.isValid()) return;
    if (validFrom.monotonicMs >= this.#validFrom.monotonicMs) this.#extendFrom(validFrom, ttlMs);
    this.#errors = [];
    this.#loopBlockedMs = 0;
    if (this.#suspect) this.#context.telemetry.emit('sessionRecovered', { lease: this.lease });
    this.#suspect = false;
    const tookMs = this.#clock.monotonic() - sent.monotonicMs;
    this.#context.telemetry.emit('sessionRenewed', { lease: this.lease, tookMs, validForMs: this.remainingMs() });
  }

  #renewalFailed(error: unknown): void {
    if (this.#end !== undefined) return;
    this.noteOwn(error);
    if (!this.isValid()) return;
    if (!this.#suspect)
      this.#context.telemetry.emit('sessionSuspect', { lease: this.lease, remainingMs: Math.round(this.remainingMs()), error });
    this.#suspect = true;
  }

  #watchDeadline(): void {
    this.#in(this.remainingMs(), () => this.#watchDeadline());
  }

  /** Looks at both clocks now and then, so that a jump is noticed while nobody asks; and measures how late it comes itself. */
  #pulse(before: number): void {
    const everyMs = this.#context.timing.ttlMs / PULSES_PER_TTL;
    this.#in(everyMs, () => {
      const now = this.#deadline.look().monotonicMs;
      const lateMs = now - before - everyMs;
      this.#loopBlockedMs = Math.max(this.#loopBlockedMs, lateMs);
      if (lateMs > this.#context.timing.ttlMs / 10) this.#context.telemetry.emit('loopLag', { blockedMs: Math.round(lateMs) });
      if (this.isValid()) this.#pulse(now);
    });
  }
}

export interface OpeningContext extends SessionContext {
  readonly signal: AbortSignal;
  /** Aborts when no call may go on any more, not even one that cleans up. */
  readonly over: AbortSignal;
}

/** What a watch on a key needs of a session's context, and no more: the watch may outlive the session. */
export function watchContext({ store, clock, timing, telemetry }: SessionContext): KeyWatchContext {
  return { store, clock, telemetry, retryMs: timing.ttlMs / 10 };
}

/** One attempt, `begin` being the rest of it. Fails as the store or `begin` fails; a session that was begun in vain is ended and its lease revoked. */
export async function openSession(
  context: OpeningContext,
  begin: (session: LeaseSession, ttlMs: number) => Promise<void> | void,
): Promise<LeaseSession> {
  const { store, clock, timing } = context;
  const lease = await store.grantLease(timing.ttlMs, { at: momentOf(clock), timeoutMs: timing.callTimeoutMs, signal: context.signal });
  const session = new LeaseSession(context, lease);
  session.start();
  try {
    checkGranted(context, lease);
    await begin(session, lease.ttlMs);
    context.telemetry.emit('sessionOpened', { lease: lease.id, ttlMs: lease.ttlMs, validForMs: session.remainingMs() });
    return session;
  } catch (error) {
    session.end('memberClosed');
    await store.revokeLease(lease.id, { timeoutMs: timing.callTimeoutMs, signal: context.over }).catch(() => {});
    session.settled();
    throw error;
  }
}

/** A lease shorter than was asked for may leave no time for two renewals before its deadline. */
function checkGranted({ store, timing }: OpeningContext, { ttlMs }: Lease): void {
  const renewEveryMs = timing.renewEveryMs * (ttlMs / timing.ttlMs);
  if (ttlMs >= timing.ttlMs || validMs(ttlMs, timing) >= oldestMs(renewEveryMs, ttlMs, store.capabilities) + renewEveryMs) return;
  throw new IncumbentError(
    'LEASE_TOO_SHORT',
    `asked for a lease of ${timing.ttlMs} ms, ${store.name} granted ${ttlMs} ms: too short to lead by`,
    {
      details: { askedMs: timing.ttlMs, grantedMs: ttlMs },
    },
  );
}
