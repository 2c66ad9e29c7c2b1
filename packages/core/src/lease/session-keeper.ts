/**
 * Keeps a member in a session: opens one when it is needed, shares it, and lets the last one go in
 * the right order. One after the other, never two.
 */

import { onAbort, orAborted } from '../async/abort.ts';
import { Backoff } from '../async/backoff.ts';
import { sleep } from '../async/sleep.ts';
import { isIncumbentError, isRetryable } from '../base/errors.ts';
import { duplicate } from './member-key.ts';
import type { OpeningContext, LeaseSession, SessionContext } from './session.ts';

export interface SessionKeeperContext extends SessionContext {
  readonly memberId: string;
  /** One attempt at the next session. `before` is the last one that there was. */
  readonly open: (context: OpeningContext, before: LeaseSession | undefined) => Promise<LeaseSession>;
  /** Resolves when nothing that leads by this session is draining any more. */
  readonly drained: (session: LeaseSession) => Promise<void>;
}

/**
 * A lease that cannot be revoked is given up after so many ttls: it has expired by then wherever a
 * server lives.
 */
const REVOKE_TTLS = 10;

/** A session on its way, shared by all who wait for it; given up when nobody does any more. */
interface Opening {
  readonly promise: Promise<LeaseSession>;
  readonly abandon: AbortController;
  wanted: number;
}

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

  get current(): LeaseSession | undefined {
    return this.#current;
  }

  /**
   * The live session, opened if there is none; retried for ever while the store cannot be reached.
   * Rejects on abort, and on errors that stay.
   */
  async get(signal: AbortSignal): Promise<LeaseSession> {
    for (;;) {
      signal.throwIfAborted();
      if (this.#current?.isValid() === true) return this.#current;
      if (this.#current?.ended?.reason === 'replaced') throw duplicate(this.#context.memberId, 0);
      const opening = (this.#opening ??= this.#open());
      // One that all before have given up is on its way out, with a reason that is theirs.
      if (opening.abandon.signal.aborted) await orAborted(opening.promise, signal).catch(() => {});
      else return this.#await(opening, signal);
    }
  }

  async #await(opening: Opening, signal: AbortSignal): Promise<LeaseSession> {
    opening.wanted += 1;
    try {
      return await orAborted(opening.promise, signal);
    } finally {
      opening.wanted -= 1;
      if (opening.wanted === 0) opening.abandon.abort(signal.reason);
    }
  }

  /**
   * Ends the session, and every call made for it; when the drains are over, revokes its lease:
   * bounded by the drain and one call's time.
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
      session.settled();
    }
    await Promise.all(this.#retiring);
  }

  /** No call goes on from here: what has not been revoked expires. */
  abandon(): void {
    this.#over.abort();
  }

  #open(): Opening {
    const abandon = new AbortController();
    const promise = this.#untilOpen(abandon.signal).finally(() => {
      this.#opening = undefined;
    });
    promise.catch(() => {});
    return { promise, abandon, wanted: 0 };
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
        telemetry.emit('retry', { doing: 'openingSession', error });
      }
      await sleep(clock, backoff.next(), signal);
    }
  }

  #adopt(session: LeaseSession): LeaseSession {
    this.#current = session;
    session.onEnd(({ reason }) => {
      if (reason === 'memberClosed') return;
      if (session.leaseGone) {
        void this.#context.drained(session).then(() => session.settled());
        return;
      }
      const retiring = this.#retire(session).finally(() => {
        this.#retiring.delete(retiring);
        session.settled();
      });
      this.#retiring.add(retiring);
    });
    return session;
  }

  /**
   * The lease of a session that is over carries only what is dead: it goes as soon as the last
   * drain is over.
   */
  async #retire(session: LeaseSession): Promise<void> {
    const { clock, random, timing } = this.#context;
    await this.#context.drained(session);
    const backoff = new Backoff(random, timing.retryEveryMs, timing.ttlMs);
    const until = clock.monotonic() + REVOKE_TTLS * timing.ttlMs;
    while (!(await this.#tryRevoke(session))) {
      if (this.#closed.signal.aborted || clock.monotonic() > until) return;
      const woken = new AbortController();
      const stop = onAbort(this.#closed.signal, () => woken.abort());
      await sleep(clock, backoff.next(), woken.signal);
      stop();
    }
  }

  async #tryRevoke({ lease }: LeaseSession): Promise<boolean> {
    const { store, timing, telemetry } = this.#context;
    try {
      await store.revokeLease(lease, { timeoutMs: timing.callTimeoutMs, signal: this.#over.signal });
      return true;
    } catch (error) {
      if (this.#over.signal.aborted) return true;
      telemetry.emit('retry', { doing: 'revokingLease', lease, error });
      return isIncumbentError(error, 'LEASE_EXPIRED') || !isRetryable(error);
    }
  }
}
