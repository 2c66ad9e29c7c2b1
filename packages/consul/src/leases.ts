/**
 * Leases are sessions. A session that lives by its ttl alone has a ttl of at least 10 s, and the
 * servers end it after up to twice its ttl. If the agent runs on this machine, a session is
 * therefore also bound to a TTL check of the agent, which turns critical as soon as the lease's ttl
 * is over. Each lease registers an instance of the service `incumbent` that has this check.
 *
 * **Renewal.** Only the agent acknowledges that a check was passed. If the agent is cut off from
 * the servers it still acknowledges, while the servers end the session by its ttl. A renewal
 * therefore passes the check and renews the session, and counts from the moment before both
 * requests are sent. Two kinds of renewals prove nothing:
 *
 * - A renewal that is acknowledged later than one ttl after the previous renewal. The check may
 *   have been critical in between, and the agent may be about to report that to the servers.
 * - A renewal to which a server responds that it does not know the session. The server may have
 *   just started, and may not have read of the session yet.
 *
 * In both cases the session is ended, so that the lease is certainly gone.
 *
 * **Deposed leaders.** The leader of the servers renews a session by resetting a timer of its own,
 * without consensus. A deposed leader that does not know yet that it was deposed does the same. The
 * renewal counts all the same: the timer is set to twice the ttl, and each new leader starts with
 * twice the ttl for every session. So a session cannot expire within one ttl of the renewal, unless
 * only deposed leaders respond for longer than a ttl, and each of them does so for a moment only. A
 * deposed leader does not know of what ends a session at once, for example an operator. See
 * `capabilities.endsEarly`.
 */

import { randomUUID } from 'node:crypto';

import type { Clock, Lease, LeaseId, LeaseOptions, Moment, Renewal } from '@incumbent/core';
import { keepAlive, momentOf, sleep } from '@incumbent/core/adapter';
import { type CallTime, leaseGone } from '@incumbent/network';

import type { Client } from './client/client.ts';
import type { ExchangeError } from './client/failure.ts';
import { afterWriting, isCheckUnknown, isNodeUnknown, mayBeApplied, otherDatacenter } from './errors.ts';
import { agentDatacenter } from './protocol/agent.ts';
import { passCheck, registerService, serviceIdOf } from './protocol/service.ts';
import { createSession, destroySession, isSessionId, renewSession } from './protocol/session.ts';
import { writeTicket } from './revoker.ts';
import { ServiceCleaner } from './service-cleaner.ts';

/** The shortest ttl of a session that is bound to a check. */
export const MIN_CHECK_TTL_MS = 1_000;

/** The clocks of the agent and of this process may differ by this part of a ttl. */
const CLOCK_ERROR = 0.02;

/** The first and the longest wait before the servers are asked again whether they know a check. */
const FIRST_WAIT_MS = 5;
const LAST_WAIT_MS = 200;

/** What ends the sessions of a store. */
export interface Binding {
  readonly bound: 'check' | 'ttl';
  /** Why the agent of this machine registered no service, if `session` is `auto`. */
  readonly refusal?: string;
}

export interface LeasePolicy {
  readonly clock: Clock;
  /** Shown by Consul's own tools. */
  readonly name: string;
  readonly lockDelayMs: number;
  readonly bound: 'check' | 'ttl';
  /** The shortest ttl of a session that the servers accept, in ms. */
  readonly minSessionTtlMs: number;
  /** The datacenter that must serve. Undefined if it is the agent's own in any case. */
  readonly datacenter: string | undefined;
  /** A namespace of Consul Enterprise. */
  readonly namespace: string | undefined;
}

interface LeaseState {
  readonly ttlMs: number;
  /** The id of the lease's service and of its check. Undefined if the session has no check. */
  readonly service: string | undefined;
  /** The moment at which the last acknowledged renewal was sent. */
  sent: Moment;
  /**
   * The end of the session was requested, and may still take place. Later renewals prove nothing.
   */
  endRequested: boolean;
}

export class Leases {
  readonly #client: Client;
  readonly #policy: LeasePolicy;
  readonly #leases = new Map<LeaseId, LeaseState>();
  readonly #cleaner: ServiceCleaner;

  constructor(client: Client, policy: LeasePolicy) {
    this.#client = client;
    this.#policy = policy;
    this.#cleaner = new ServiceCleaner(client, policy.clock);
  }

  async grant(askedMs: number, { at }: LeaseOptions, time: CallTime): Promise<Lease> {
    const { bound, clock, minSessionTtlMs } = this.#policy;
    const ttlMs = Math.max(Math.ceil(askedMs), bound === 'check' ? MIN_CHECK_TTL_MS : minSessionTtlMs);
    const sent = momentOf(clock);
    const service = bound === 'check' ? serviceIdOf(randomUUID()) : undefined;
    try {
      if (service !== undefined) await registerService(this.#client, { id: service, name: this.#policy.name, ttlMs }, time.left);
    } catch (error) {
      if (service !== undefined && mayBeApplied(error)) this.#cleaner.schedule(service);
      throw error;
    }
    try {
      // A restarted agent keeps the state of a check only if the check was passed.
      if (service !== undefined) await passCheck(this.#client, service, time.left);
      const id = await this.#create(ttlMs, service, time);
      this.#leases.set(id, { ttlMs, service, sent, endRequested: false });
      return { id, ttlMs, validFrom: at };
    } catch (error) {
      // A session that was created although the call failed ends with its check.
      if (service !== undefined) this.#cleaner.schedule(service);
      throw error;
    }
  }

  async renew(lease: LeaseId, { at }: LeaseOptions, time: CallTime): Promise<Renewal> {
    const state = this.#leases.get(lease);
    if (state === undefined) throw leaseGone('consul', lease);
    if (state.endRequested || !(await this.#isRenewed(lease, state, time))) {
      try {
        await this.revoke(lease, time);
      } catch (error) {
        throw afterWriting(error, 'renewLease');
      }
      throw leaseGone('consul', lease);
    }
    return { ttlMs: state.ttlMs, validFrom: at };
  }

  async revoke(lease: LeaseId, time: CallTime): Promise<void> {
    if (!isSessionId(lease)) return;
    const state = this.#leases.get(lease);
    if (state !== undefined) state.endRequested = true;
    await destroySession(this.#client, lease, time);
    this.forget(lease);
  }

  /** The ticket with which another process ends the lease if this process has died. */
  ticketOf(lease: LeaseId): string | undefined {
    const state = this.#leases.get(lease);
    return state && writeTicket({ lease, service: state.service });
  }

  /** Call this when the lease is certainly gone. */
  forget(lease: LeaseId): void {
    const state = this.#leases.get(lease);
    this.#leases.delete(lease);
    if (state?.service !== undefined) this.#cleaner.schedule(state.service);
  }

  /**
   * Removes the services of ended leases, and waits for that at most half a second. Live leases
   * keep their services. If the end of a lease was requested and not confirmed, the removal of the
   * service, and so of its check, ends the lease.
   */
  close(): Promise<void> {
    for (const { endRequested, service } of this.#leases.values()) {
      if (endRequested && service !== undefined) this.#cleaner.schedule(service);
    }
    return this.#cleaner.close();
  }

  /**
   * Passes the check and renews the session. False if that does not prove that the lease lives for
   * a ttl from now on.
   */
  async #isRenewed(lease: LeaseId, state: LeaseState, time: CallTime): Promise<boolean> {
    const sent = momentOf(this.#policy.clock);
    const options = time.left;
    const [passed, renewed] = await Promise.all([
      state.service === undefined ? true : passCheck(this.#client, state.service, options),
      renewSession(this.#client, lease, options),
    ]);
    if (!passed || !renewed || state.endRequested || this.#isLate(state)) return false;
    if (sent.monotonicMs > state.sent.monotonicMs) state.sent = sent;
    return true;
  }

  /**
   * The agent reports a new service to the servers a moment after its registration. Until then, the
   * servers refuse the session.
   */
  async #create(ttlMs: number, service: string | undefined, time: CallTime): Promise<LeaseId> {
    const { name, lockDelayMs, clock, minSessionTtlMs, namespace } = this.#policy;
    const request = { name, ttlMs: Math.max(ttlMs, minSessionTtlMs), lockDelayMs, check: service, namespace };
    for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(2 * waitMs, LAST_WAIT_MS)) {
      try {
        return await createSession(this.#client, request, time.left);
      } catch (error) {
        if (isNodeUnknown(error)) throw await this.#explained(error, time);
        if (!isCheckUnknown(error) || time.leftMs <= waitMs) throw error;
      }
      const pauseMs = waitMs;
      await keepAlive(clock, () => sleep(clock, pauseMs, time.signal));
    }
  }

  /**
   * Says so if the servers do not know the agent's node because they are another datacenter's. The
   * servers of the agent's own learn of the node when the agent has started.
   */
  async #explained(refusal: ExchangeError, time: CallTime): Promise<unknown> {
    const { datacenter } = this.#policy;
    if (datacenter === undefined) return refusal;
    // The token need not have the right to read the agent.
    const own = await agentDatacenter(this.#client, time.left).catch(() => undefined);
    return own === datacenter ? refusal : otherDatacenter(datacenter, own, refusal);
  }

  /** Compares both clocks, because one of them may stop while the machine is suspended. */
  #isLate({ ttlMs, sent }: LeaseState): boolean {
    const now = momentOf(this.#policy.clock);
    const passedMs = Math.max(now.monotonicMs - sent.monotonicMs, now.wallMs - sent.wallMs);
    return passedMs >= ttlMs * (1 - CLOCK_ERROR);
  }
}
