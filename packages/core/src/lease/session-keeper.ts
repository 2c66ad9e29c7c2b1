/**
 * Keeps a session open for a member: opens it when it is needed, shares it between elections and
 * groups, and replaces it after it has ended. There is at most one live session at a time.
 */

import { orAborted } from '../async/abort.ts';
import { Backoff } from '../async/backoff.ts';
import { sleep } from '../async/sleep.ts';
import { isIncumbentError, isRetryable } from '../base/errors.ts';
import { replacedError } from './member-key.ts';
import type { OpeningContext, LeaseSession, SessionContext } from './session.ts';

/** What a session keeper needs. */
export interface SessionKeeperContext extends SessionContext {
  readonly memberId: string;
  /** Makes one attempt to open a session. `before` is the session before it, if there was one. */
  readonly open: (context: OpeningContext, before: LeaseSession | undefined) => Promise<LeaseSession>;
  /** Resolves when the drains of all leaderships of this session are over. */
  readonly drained: (session: LeaseSession) => Promise<void>;
}

/**
 * For how many ttls to retry the revocation of a lease. By then the lease has expired, unless no
 * server runs.
 */
const REVOKE_TTLS = 10;

/** A session that is being opened. Aborted when nobody waits for it any more. */
interface Opening {
  readonly promise: Promise<LeaseSession>;
  readonly abandon: AbortController;
  /** How many callers wait. */
  waiting: number;
}

/** The sessions of a member on one lease after another. */
export class SessionKeeper {
  readonly #context: SessionKeeperContext;
  readonly #closed = new AbortController();
  readonly #over = new AbortController();
  readonly #retiring = new Set<Promise<void>>();
  #current: LeaseSession | undefined;
  #opening: Opening | undefined;

  constructor(context: SessionKeeperContext) {
    this.#context = context;
  }

  /** The latest session, live or ended. Undefined before the first. */
  get current(): LeaseSession | undefined {
    return this.#current;
  }

  /**
   * Resolves with the live session, and opens one if there is none. Retries without end while the
   * store cannot be reached. Rejects with the signal's reason, or with an error that a retry does
   * not solve.
   */
  async get(signal: AbortSignal): Promise<LeaseSession> {
    for (;;) {
      signal.throwIfAborted();
      if (this.#current?.isValid() === true) return this.#current;
      if (this.#current?.ended?.reason === 'replaced') throw replacedError(this.#context.memberId);
      const opening = (this.#opening ??= this.#open());
      // All earlier callers have given this opening up. Wait until it has ended, and open another.
      if (opening.abandon.signal.aborted) await orAborted(opening.promise, signal).catch(() => {});
      else return this.#await(opening, signal);
    }
  }

  async #await(opening: Opening, signal: AbortSignal): Promise<LeaseSession> {
    opening.waiting += 1;
    try {
      return await orAborted(opening.promise, signal);
    } finally {
      opening.waiting -= 1;
      if (opening.waiting === 0) opening.abandon.abort(signal.reason);
    }
  }

  /**
   * Ends the session and its calls, waits for the drains, and revokes the lease. Takes at most
   * `drainMs` and `callTimeoutMs`.
   */
  async close(): Promise<void> {
    this.#closed.abort();
    this.#opening?.abandon.abort();
    await this.#opening?.promise.catch(() => {});
    const session = this.#current;
    if (session !== undefined && session.ended === undefined) {
      session.end('memberClosed');
      await this.#context.drained(session);
      await this.#tryRevoke(session);
      session.forget();
    }
    await Promise.all(this.#retiring);
  }

  /** Aborts every call that still runs. Leases that were not revoked expire. */
  abandon(): void {
    this.#over.abort();
  }

  #open(): Opening {
    const abandon = new AbortController();
    const promise = this.#untilOpen(abandon.signal).finally(() => {
      this.#opening = undefined;
    });
    promise.catch(() => {});
    return { promise, abandon, waiting: 0 };
  }

  async #untilOpen(signal: AbortSignal): Promise<LeaseSession> {
    const { clock, random, timing, telemetry } = this.#context;
    const backoff = new Backoff(random, timing.retryEveryMs, Math.min(timing.ttlMs, 5_000));
    for (;;) {
      signal.throwIfAborted();
      try {
        return this.#adopt(await this.#context.open({ ...this.#context, signal, over: this.#over.signal }, this.#current));
      } catch (error) {
        if (signal.aborted || !isRetryable(error)) throw error;
        telemetry.emitOften('retry', { doing: 'openingSession', error }, clock.monotonic());
      }
      await sleep(clock, backoff.next(), signal);
    }
  }

  #adopt(session: LeaseSession): LeaseSession {
    if (this.#current !== undefined) this.#context.telemetry.emit('sessionReopened', { lease: session.lease });
    this.#current = session;
    session.onEnd(({ reason }) => {
      if (reason === 'memberClosed') return;
      if (session.leaseGone) {
        void this.#context.drained(session).then(() => session.forget());
        return;
      }
      const retiring = this.#retire(session).finally(() => {
        this.#retiring.delete(retiring);
        session.forget();
      });
      this.#retiring.add(retiring);
    });
    return session;
  }

  /**
   * Revokes the lease of an ended session after its drains, so that its keys do not block other
   * members until the ttl is over.
   */
  async #retire(session: LeaseSession): Promise<void> {
    const { clock, random, timing } = this.#context;
    await this.#context.drained(session);
    const backoff = new Backoff(random, timing.retryEveryMs, timing.ttlMs);
    const until = clock.monotonic() + REVOKE_TTLS * timing.ttlMs;
    while (!(await this.#tryRevoke(session))) {
      if (this.#closed.signal.aborted || clock.monotonic() > until) return;
      await sleep(clock, backoff.next(), this.#closed.signal);
    }
  }

  async #tryRevoke({ lease }: LeaseSession): Promise<boolean> {
    const { store, clock, timing, telemetry } = this.#context;
    try {
      await store.revokeLease(lease, { timeoutMs: timing.callTimeoutMs, signal: this.#over.signal });
      return true;
    } catch (error) {
      if (this.#over.signal.aborted) return true;
      telemetry.emitOften('retry', { doing: 'revokingLease', lease, error }, clock.monotonic());
      return isIncumbentError(error, 'LEASE_EXPIRED') || !isRetryable(error);
    }
  }
}
