/**
 * Each lease is a session of its own. A key is bound to a lease by creating it on that session's
 * connection; a session that is over binds nothing.
 *
 * **Renewal.** Sessions of leases send no pings, so a lease that nobody renews ends. Pings would
 * prove nothing either: a server answers them by itself, also after it has lost the ensemble's
 * leader, which alone decides when a session ends. A leader that was deposed without knowing it
 * answers a `sync` for up to a tick. So a renewal is a barrier: a transaction that changes nothing,
 * and to which a quorum agrees.
 *
 * The ensemble's leader learns which sessions are alive only from its own pings to the servers,
 * every half tick. An acknowledged barrier therefore proves only this: the session was alive when
 * an earlier barrier was sent, one that was acknowledged at least half a tick before this one was
 * sent. The server had the earlier one by its acknowledgement, and perhaps not before, because the
 * request may have been delayed on its way. A session lasts two ticks at least, so half a tick is a
 * quarter of the session's timeout at most. This requires that the servers' `minSessionTimeout` is
 * two ticks or more, as it is by default. The protocol does not show the tick, so nothing here can
 * check that.
 */

import type { Clock, Lease, LeaseId, LeaseOptions, Moment, Renewal, TimedCall } from '@incumbent/core';
import { outcomeOf, StoreError } from '@incumbent/core/adapter';
import { Attempt, CallTime } from '@incumbent/network';

import { barrier } from './client/calls.ts';
import type { Client } from './client/client.ts';
import type { SessionEvent, ZooKeeperSession } from './client/session.ts';
import { ExchangeError, noSuchLease, toStoreError } from './errors.ts';
import { leaseIdOf } from './namespace.ts';
import type { SessionIdentity } from './protocol/hello.ts';
import { writeTicket } from './revoker.ts';

/** The longest session that the protocol can ask for. Servers grant far less. */
export const LONGEST_MS: number = 2 ** 31 - 1;

/**
 * A renewal extends the lease from the sending of an earlier renewal. At least this part of the ttl
 * lies between the acknowledgement of the earlier one and the sending of the later one.
 */
export const RENEWALS_APART: number = 1 / 4;

/** An acknowledged renewal. */
interface Acknowledged {
  /** When the caller sent it. */
  readonly at: Moment;
  /** When it was acknowledged, on the store's monotonic clock. The server had it by then. */
  readonly byMs: number;
}

interface LeaseState {
  readonly session: ZooKeeperSession;
  readonly identity: SessionIdentity;
  /**
   * The acknowledged renewals, in the order of sending. The first is the one from which the last
   * answer counts the ttl. At the beginning, that is the grant, which the ensemble's leader itself
   * made.
   */
  renewals: readonly Acknowledged[];
  /**
   * Settles when the session was closed, or could not be. Undefined while nobody closes it. Nothing
   * may be sent after the request that closes it: a server would cut the connection, and its answer
   * would be lost.
   */
  revocation: Promise<void> | undefined;
  /** Its end was requested, and may still take place. Renewals prove nothing any more. */
  isOver: boolean;
}

export class Leases {
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #onGone: (lease: LeaseId) => void;
  readonly #leases = new Map<LeaseId, LeaseState>();

  /** `onGone` is called for every lease that has ended. */
  constructor(client: Client, clock: Clock, onGone: (lease: LeaseId) => void) {
    this.#client = client;
    this.#clock = clock;
    this.#onGone = onGone;
  }

  async grant(ttlMs: number, options: TimedCall<LeaseOptions>): Promise<Lease> {
    const onEvent = (event: SessionEvent): void => {
      if (event.type === 'expired' && event.by === 'server') this.#forget(session);
    };
    const session: ZooKeeperSession = await this.#client.openSession(
      { timeoutMs: Math.min(Math.ceil(ttlMs), LONGEST_MS), quiet: true, onEvent },
      options,
    );
    const { identity, timeoutMs } = session;
    if (identity === undefined) throw noSuchLease('just opened');
    const id = leaseIdOf(identity.id);
    this.#leases.set(id, { session, identity, renewals: [{ at: options.at, byMs: -Infinity }], revocation: undefined, isOver: false });
    return { id, ttlMs: timeoutMs, validFrom: options.at };
  }

  async renew(lease: LeaseId, options: TimedCall<LeaseOptions>): Promise<Renewal> {
    const settling = this.settle(lease, options);
    if (settling !== undefined) await settling;
    const state = this.#find(lease);
    const { at } = options;
    const sentMs = this.#clock.monotonic();
    await barrier(state.session, options);
    if (state.isOver) throw beingEnded(lease, 'unknown');
    const { timeoutMs } = state.session;
    const vouched = state.renewals.findLastIndex(({ byMs }) => byMs <= sentMs - timeoutMs * RENEWALS_APART);
    const renewals = [...state.renewals.slice(Math.max(vouched, 0)), { at, byMs: this.#clock.monotonic() }];
    state.renewals = renewals.toSorted((a, b) => a.at.monotonicMs - b.at.monotonicMs);
    return { ttlMs: timeoutMs, validFrom: state.renewals[0]?.at ?? at };
  }

  /** One call at a time asks the servers. The others wait for it, and ask if it has failed. */
  async revoke(lease: LeaseId, options: TimedCall): Promise<void> {
    const time = new CallTime(this.#clock, options, ExchangeError);
    for (;;) {
      const state = this.#leases.get(lease);
      if (state === undefined) return;
      options.signal?.throwIfAborted();
      if (state.revocation === undefined) {
        state.revocation = this.#revoke(lease, state, time.left);
        return state.revocation;
      }
      await this.#waitFor(state.revocation, time.left);
    }
  }

  async #waitFor(revocation: Promise<void>, options: TimedCall): Promise<void> {
    const attempt = new Attempt(this.#clock, options, ExchangeError);
    // The server may have the request of the other call.
    attempt.sent = true;
    try {
      await attempt.wait(revocation.catch(() => {}));
    } finally {
      attempt.end();
    }
  }

  async #revoke(lease: LeaseId, state: LeaseState, options: TimedCall): Promise<void> {
    const { session, identity, isOver } = state;
    state.isOver = true;
    try {
      // A session that was given up, because no server was reached in time, may be alive.
      if (session.over) await this.#client.endSession({ identity, lastZxid: session.lastZxid }, options);
      else await session.close(options);
      this.#remove(lease);
    } catch (error) {
      // No server can apply a request that was not sent, so the lease goes on.
      if (outcomeOf(toStoreError(error, 'revokeLease')) === 'notSent') state.isOver = isOver;
      throw error;
    } finally {
      state.revocation = undefined;
    }
  }

  /** A text with which another process can end the lease if this one dies. */
  ticketOf(lease: LeaseId): string | undefined {
    const state = this.#leases.get(lease);
    return state && writeTicket(state.identity);
  }

  /**
   * Ends a session that was given up because no server was reached in time, or whose revocation had
   * an unknown outcome: a stalled server may still apply it. Afterwards the session is certainly
   * gone. Undefined if there is nothing to do.
   */
  settle(lease: LeaseId, call: TimedCall): Promise<void> | undefined {
    const state = this.#leases.get(lease);
    if (state === undefined) return undefined;
    return state.session.over || (state.isOver && state.revocation === undefined) ? this.revoke(lease, call) : undefined;
  }

  /**
   * The session to bind keys by. Call {@link settle} first, and use the session in the same
   * microtask: nothing may be sent on it after its end. Throws a `StoreError` (`LEASE_EXPIRED`) for
   * a lease that is over, that is being revoked, or that this store was not granted.
   */
  session(lease: LeaseId): ZooKeeperSession {
    return this.#find(lease).session;
  }

  #forget(session: ZooKeeperSession): void {
    for (const [lease, state] of this.#leases) if (state.session === session) this.#remove(lease);
  }

  #remove(lease: LeaseId): void {
    this.#leases.delete(lease);
    this.#onGone(lease);
  }

  #find(lease: LeaseId): LeaseState {
    const state = this.#leases.get(lease);
    if (state === undefined) throw noSuchLease(lease);
    // Not `refused`: the revocation may fail.
    if (state.isOver) throw beingEnded(lease, 'notSent');
    return state;
  }
}

function beingEnded(lease: LeaseId, outcome: 'notSent' | 'unknown'): StoreError {
  return new StoreError('LEASE_EXPIRED', outcome, `zookeeper: the session ${lease} is being ended`);
}
