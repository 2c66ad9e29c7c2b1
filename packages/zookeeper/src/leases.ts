/**
 * Leases are sessions, one each. Whoever binds a key to a lease does so on that session's connection; a session that is over binds nothing.
 *
 * **Renewal.** No pings are sent: a lease that nobody renews ends. Nor would they prove anything: a server answers them by itself, also when it has lost the
 * ensemble's leader, who alone decides when a session ends; and a leader that was deposed and does not know it answers a `sync` for up to a tick. So a
 * renewal is a barrier, which a quorum agrees to. But the leader hears which sessions are alive only with its own pings to the servers, every half tick:
 * an acknowledged barrier proves no more than that the session was alive when an earlier one was sent, whose acknowledgement came at least half a tick before this one
 * was sent: the server had it by then, and may have got it no sooner, where it stood still on its way. A session lasts two ticks at least, so half a tick is a quarter of it at
 * most.
 */

import type { CallOptions, Clock, Lease, LeaseId, LeaseOptions, Moment, Renewal } from '@incumbent/core';
import { StoreError } from '@incumbent/core/adapter';

import { barrier } from './client/calls.ts';
import { leaseIdOf } from './namespace.ts';
import { writeTicket } from './revoker.ts';
import type { Client } from './client/client.ts';
import type { SessionIdentity } from './connection/handshake.ts';
import type { Session, SessionEvent } from './client/session.ts';

/** The protocol has no longer ones; servers grant far less. */
export const LONGEST_MS: number = 2 ** 31 - 1;

/** So much of the ttl must lie between a renewal and the acknowledgement of the one before that it vouches from. */
export const APART: number = 1 / 4;

/** A renewal that was acknowledged. */
interface Acknowledged {
  readonly at: Moment;
  /** Its server had it by then, on the store's clock. */
  readonly byMs: number;
}

interface Held {
  readonly session: Session;
  readonly identity: SessionIdentity;
  /** In the order in which they were sent, from the one that the last answer vouched from on. The first of all is the grant, which the leader itself made. */
  renewals: readonly Acknowledged[];
  /** Nothing may follow the end of the session: servers cut a connection on which something does, and their answer is lost. */
  revoking: boolean;
}

export class Leases {
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #onGone: (lease: LeaseId) => void;
  readonly #held = new Map<LeaseId, Held>();

  /** `onGone` is told of leases that are over. */
  constructor(client: Client, clock: Clock, onGone: (lease: LeaseId) => void) {
    this.#client = client;
    this.#clock = clock;
    this.#onGone = onGone;
  }

  async grant(ttlMs: number, options: LeaseOptions): Promise<Lease> {
    const onEvent = (event: SessionEvent): void => {
      if (event.type === 'expired' && event.by === 'server') this.#forget(session);
    };
    const session: Session = await this.#client.openSession(
      { timeoutMs: Math.min(Math.ceil(ttlMs), LONGEST_MS), quiet: true, onEvent },
      options,
    );
    const { identity, timeoutMs } = session;
    if (identity === undefined) throw leaseGone('just opened');
    const id = leaseIdOf(identity.id);
    this.#held.set(id, { session, identity, renewals: [{ at: options.at, byMs: -Infinity }], revoking: false });
    return { id, ttlMs: timeoutMs, validFrom: options.at };
  }

  async renew(lease: LeaseId, options: LeaseOptions): Promise<Renewal> {
    const settling = this.settle(lease, options);
    if (settling !== undefined) await settling;
    const held = this.#find(lease);
    const { at } = options;
    const sentMs = this.#clock.monotonic();
    await barrier(held.session, options);
    const { timeoutMs } = held.session;
    const vouched = held.renewals.findLastIndex(({ byMs }) => byMs <= sentMs - timeoutMs * APART);
    const renewals = [...held.renewals.slice(Math.max(vouched, 0)), { at, byMs: this.#clock.monotonic() }];
    held.renewals = renewals.toSorted((a, b) => a.at.monotonicMs - b.at.monotonicMs);
    return { ttlMs: timeoutMs, validFrom: held.renewals[0]?.at ?? at };
  }

  async revoke(lease: LeaseId, options: CallOptions): Promise<void> {
    const held = this.#held.get(lease);
    if (held === undefined) return;
    const { session, identity } = held;
    held.revoking = true;
    try {
      // One that was given up, as no server could be reached for so long, may live where it lived.
      if (session.over) await this.#client.endSession(identity, options);
      else await session.close(options);
      this.#remove(lease);
    } finally {
      held.revoking = false;
    }
  }

  /** For another process to end it by, should this one have died. */
  ticketOf(lease: LeaseId): string | undefined {
    const held = this.#held.get(lease);
    return held && writeTicket(held.identity);
  }

  /** A session that was given up, as no server could be reached for so long, is ended first: then it is certainly gone. Undefined: there is nothing to do. */
  settle(lease: LeaseId, call: CallOptions): Promise<void> | undefined {
    return this.#held.get(lease)?.session.over === true ? this.revoke(lease, call) : undefined;
  }

  /**
   * The session to bind keys by, settled before. At once, and to be used at once: nothing may be sent on it after its end. Throws a `StoreError`
   * (`LEASE_EXPIRED`) for one that is over, is being ended, or is not of this store.
   */
  session(lease: LeaseId): Session {
    return this.#find(lease).session;
  }

  #forget(session: Session): void {
    for (const [lease, held] of this.#held) if (held.session === session) this.#remove(lease);
  }

  #remove(lease: LeaseId): void {
    this.#held.delete(lease);
    this.#onGone(lease);
  }

  #find(lease: LeaseId): Held {
    const held = this.#held.get(lease);
    if (held === undefined) throw leaseGone(lease);
    // Not gone for certain: the revocation may fail.
    if (held.revoking) throw new StoreError('LEASE_EXPIRED', 'notSent', `zookeeper: the session ${lease} is being ended`);
    return held;
  }
}

export function leaseGone(lease: LeaseId): StoreError {
  return new StoreError('LEASE_EXPIRED', 'refused', `zookeeper: this store has no session ${lease}: it has expired, or was closed`);
}
