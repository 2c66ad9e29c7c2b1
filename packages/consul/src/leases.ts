/**
 * Leases are sessions. One with a ttl alone cannot be shorter than 10 s, and servers end it after twice that. So where the agent is this machine's own, a
 * session is bound to a check as well, which the agent turns critical as soon as its ttl is over.
 *
 * **Renewal.** The agent alone acknowledges that a check was passed, also when it is cut off from the servers, who end the session by its ttl then. So
 * a renewal is both, the check's passing and the session's renewal, and vouches from the sending of both on. One that is acknowledged later than a ttl
 * after the one before vouches for nothing: the check may have turned critical in between, and the news of it be on its way to the servers. Neither does
 * one that is answered by a server that knows no such session: one that has just started may not have read of it yet. In both cases the session is ended,
 * so that the lease is certainly gone.
 *
 * The servers' leader renews a session by a timer of its own, without asking the others, and so may one that was deposed and does not know it yet. It vouches
 * all the same: the timer is set to twice the ttl, and whoever deposed it began with twice the ttl for every session. So the session cannot be over by its ttl before a ttl
 * has passed from the sending on, unless deposed leaders alone answer for longer than a ttl, which each does for a moment. What ends a session at once,
 * such as an operator, a deposed leader does not know: `capabilities.endsEarly`.
 */

import { randomUUID } from 'node:crypto';

import type { Clock, Lease, LeaseId, LeaseOptions, Moment, Renewal } from '@incumbent/core';
import type { CallTime } from '@incumbent/network';

import { checkIdOf, passCheck, registerCheck } from './protocol/check.ts';
import { createSession, destroySession, isSessionId, renewSession } from './protocol/session.ts';
import { afterwards, isCheckUnknown, leaseGone, mayHaveHappened } from './errors.ts';
import type { Client } from './client/client.ts';
import { Leftovers } from './check-cleaner.ts';
import { pause } from './pause.ts';
import { writeTicket } from './revoker.ts';

/** The shortest ttl of a session that is bound to a check. */
export const MIN_CHECK_TTL_MS = 1_000;

/** Clocks of the agent and of this process may differ by so much of a ttl. */
const CLOCK_ERROR = 0.02;

/** How soon the servers are asked again whether they know a check by now: at first, and at last. */
const FIRST_WAIT_MS = 5;
const LAST_WAIT_MS = 200;

export interface LeasePolicy {
  readonly clock: Clock;
  /** Shown by Consul's own tools. */
  readonly name: string;
  readonly lockDelayMs: number;
  readonly bound: 'check' | 'ttl';
  /** The shortest ttl of a session that the servers take. */
  readonly minSessionTtlMs: number;
}

interface Held {
  readonly ttlMs: number;
  readonly check: string | undefined;
  /** When the last acknowledged renewal was sent. */
  sent: Moment;
  /** Its end was asked for, which may come about later: it is vouched for no more. */
  over: boolean;
}

export class Leases {
  readonly #client: Client;
  readonly #policy: LeasePolicy;
  readonly #held = new Map<LeaseId, Held>();
  readonly #leftovers: Leftovers;

  constructor(client: Client, policy: LeasePolicy) {
    this.#client = client;
    this.#policy = policy;
    this.#leftovers = new Leftovers(client, policy.clock);
  }

  async grant(askedMs: number, { at }: LeaseOptions, time: CallTime): Promise<Lease> {
    const { bound, clock, minSessionTtlMs } = this.#policy;
    const ttlMs = Math.max(Math.ceil(askedMs), bound === 'check' ? MIN_CHECK_TTL_MS : minSessionTtlMs);
    const sent = nowOn(clock);
    const check = bound === 'check' ? checkIdOf(randomUUID()) : undefined;
    try {
      if (check !== undefined) await registerCheck(this.#client, { id: check, name: this.#policy.name, ttlMs }, time.left);
    } catch (error) {
      if (check !== undefined && mayHaveHappened(error)) this.#leftovers.add(check);
      throw error;
    }
    try {
      // Only what was passed is still passing after the agent was started again.
      if (check !== undefined) await passCheck(this.#client, check, time.left);
      const id = await this.#create(ttlMs, check, time);
      this.#held.set(id, { ttlMs, check, sent, over: false });
      return { id, ttlMs, validFrom: at };
    } catch (error) {
      // A session that was made all the same ends with it.
      if (check !== undefined) this.#leftovers.add(check);
      throw error;
    }
  }

  async renew(lease: LeaseId, { at }: LeaseOptions, time: CallTime): Promise<Renewal> {
    const held = this.#held.get(lease);
    if (held === undefined) throw leaseGone(lease);
    if (held.over || !(await this.#vouches(lease, held, time))) {
      try {
        await this.revoke(lease, time);
      } catch (error) {
        throw afterwards(error, 'renewLease');
      }
      throw leaseGone(lease);
    }
    return { ttlMs: held.ttlMs, validFrom: at };
  }

  async revoke(lease: LeaseId, time: CallTime): Promise<void> {
    if (!isSessionId(lease)) return;
    const held = this.#held.get(lease);
    if (held !== undefined) held.over = true;
    await destroySession(this.#client, lease, time);
    this.forget(lease);
  }

  /** For another process to end it by, should this one have died. */
  ticketOf(lease: LeaseId): string | undefined {
    const held = this.#held.get(lease);
    return held && writeTicket({ lease, check: held.check });
  }

  /** The lease is certainly gone. */
  forget(lease: LeaseId): void {
    const held = this.#held.get(lease);
    this.#held.delete(lease);
    if (held?.check !== undefined) this.#leftovers.add(held.check);
  }

  /**
   * Removes the checks of leases that are over, and waits for it a moment. Those of others stay, as their leases do; but where the end of one was asked for and
   * not heard of, this is the end that was asked for.
   */
  close(): Promise<void> {
    for (const { over, check } of this.#held.values()) if (over && check !== undefined) this.#leftovers.add(check);
    return this.#leftovers.close();
  }

  /** Whether the store vouches for the lease from now on. */
  async #vouches(lease: LeaseId, held: Held, time: CallTime): Promise<boolean> {
    const sent = nowOn(this.#policy.clock);
    const options = time.left;
    const [passed, renewed] = await Promise.all([
      held.check === undefined ? true : passCheck(this.#client, held.check, options),
      renewSession(this.#client, lease, options),
    ]);
    if (!passed || !renewed || held.over || this.#isLate(held)) return false;
    if (sent.monotonicMs > held.sent.monotonicMs) held.sent = sent;
    return true;
  }

  /** The agent tells the servers of a check by itself, a moment after it was asked to keep it. */
  async #create(ttlMs: number, check: string | undefined, time: CallTime): Promise<LeaseId> {
    const { name, lockDelayMs, clock, minSessionTtlMs } = this.#policy;
    const request = { name, ttlMs: Math.max(ttlMs, minSessionTtlMs), lockDelayMs, check };
    for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(2 * waitMs, LAST_WAIT_MS)) {
      try {
        return await createSession(this.#client, request, time.left);
      } catch (error) {
        if (!isCheckUnknown(error) || time.leftMs <= waitMs) throw error;
      }
      const letGo = clock.keepAlive();
      await pause(clock, waitMs, time.signal);
      letGo();
    }
  }

  /** By either clock: one of them may stand still while the machine is suspended. */
  #isLate({ ttlMs, sent }: Held): boolean {
    const now = nowOn(this.#policy.clock);
    const passedMs = Math.max(now.monotonicMs - sent.monotonicMs, now.wallMs - sent.wallMs);
    return passedMs >= ttlMs * (1 - CLOCK_ERROR);
  }
}

function nowOn(clock: Clock): Moment {
  return { monotonicMs: clock.monotonic(), wallMs: clock.wall() };
}
