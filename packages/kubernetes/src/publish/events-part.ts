/**
 * Events on the `Lease`, as client-go creates them: one when a term begins, and one when it ends.
 */

import { randomBytes } from 'node:crypto';

import type { Clock, LeadershipEnd } from '@incumbent/core';
import { orAborted } from '@incumbent/core/adapter';

import { LEASES, type Resource } from '../names.ts';
import type { Fields } from '../objects/json.ts';
import type { Cluster } from '../store.ts';
import type { LeasePart, LeaseReference } from './lease-part.ts';
import { Objects } from './objects.ts';
import type { Part, PublishedTerm } from './part.ts';

/** The reporting component of the Events. */
const COMPONENT = 'incumbent';

export interface EndingTerm extends PublishedTerm {
  readonly ended: Promise<LeadershipEnd>;
}

export class EventsPart implements Part {
  readonly #objects: Objects;
  readonly #clock: Clock;
  readonly #namespace: string;
  readonly #lease: LeasePart;
  readonly #term: EndingTerm;
  /** Undefined until the first Event was sent. */
  #elected: Fields | undefined;
  #isElectedThere = false;
  #lost: Fields | undefined;

  constructor(cluster: Cluster, events: Resource, term: EndingTerm, lease: LeasePart) {
    this.#objects = new Objects(cluster, events, 'creating an Event');
    this.#clock = cluster.clock;
    this.#namespace = cluster.namespace;
    this.#lease = lease;
    this.#term = term;
  }

  async publish(signal: AbortSignal): Promise<void> {
    if (this.#isElectedThere) return;
    const { memberId, term } = this.#term;
    const lease = await orAborted(this.#lease.published, signal);
    if (!this.#term.isValid()) return;
    // A further try has the same name, so an Event whose answer was lost is not created twice.
    this.#elected ??= this.#event(lease, 'LeaderElected', 'Normal', `${memberId} was elected in term ${term}`);
    await this.#objects.create(this.#elected, signal);
    this.#isElectedThere = true;
  }

  async withdraw(signal: AbortSignal): Promise<void> {
    // A member that closes its publisher while it leads has not lost anything.
    if (this.#elected === undefined || this.#term.isValid()) return;
    const { memberId, term } = this.#term;
    const [lease, { reason, lost }] = await orAborted(Promise.all([this.#lease.published, this.#term.ended]), signal);
    const message = lost ? `${memberId} lost term ${term}: ${reason}` : `${memberId} gave up term ${term}: ${reason}`;
    this.#lost ??= this.#event(lease, 'LeaderLost', lost ? 'Warning' : 'Normal', message);
    await this.#objects.create(this.#lost, signal);
  }

  #event({ name, uid, version }: LeaseReference, reason: string, type: 'Normal' | 'Warning', message: string): Fields {
    const { memberId } = this.#term;
    const { apiVersion, kind } = LEASES;
    const namespace = this.#namespace;
    // To whole seconds, as the API keeps it.
    const now = new Date(Math.floor(this.#clock.wall() / 1_000) * 1_000).toISOString().replace('.000Z', 'Z');
    return {
      metadata: { name: `${name}.${randomBytes(8).toString('hex')}`, namespace },
      involvedObject: { apiVersion, kind, namespace, name, uid, resourceVersion: version },
      reason,
      message,
      type,
      firstTimestamp: now,
      lastTimestamp: now,
      count: 1,
      source: { component: COMPONENT, host: memberId },
      reportingComponent: COMPONENT,
      reportingInstance: memberId,
    };
  }
}
