/**
 * Leases are `Lease` objects. The API server ends none, so the processes that depend on a lease
 * time it: see decision record 0067. A renewal and the end of a lease are conditional changes of
 * one object, so exactly one of them wins.
 */

import { hostname } from 'node:os';

import type { Clock, Lease, LeaseId, LeaseOptions, Moment, Renewal } from '@incumbent/core';
import { momentOf } from '@incumbent/core/adapter';
import { type AttemptOptions, type CallTime, leaseGone, LeaseObserver, type ObservedStore, type LeaseView } from '@incumbent/network';

import { AbandonedLeases } from './abandoned-leases.ts';
import type { Client } from './client/client.ts';
import { afterWriting, mayBeApplied } from './errors.ts';
import { LeaseObjects } from './lease-objects.ts';
import { LeaseWatches } from './lease-watches.ts';
import type { KeyObject } from './keys/key-object.ts';
import { LABEL, leaseIdOf, newLeaseName, readLeaseId, type LeaseName, type Names } from './names.ts';
import type { Fields } from './objects/json.ts';
import { microTime, renewed, viewOf, type LeaseObject } from './objects/lease.ts';

/** How long a request may take that the store makes for itself, in ms. */
const BACKGROUND_TIMEOUT_MS = 5_000;
/** A lease that a call has met is observed for so many of its ttls after the last such call. */
const INTEREST_TTLS = 3;
/** The same for a lease whose ttl is not known yet, in ms. */
const FIRST_INTEREST_MS = 60_000;
/** More leases than this are looked at by a list, which is one request. */
const MAX_SINGLE_READS = 4;
/** A server may apply a request this long after its client has given up, in ms: its own limit. */
const LATE_CREATION_MS = 60_000;

interface OwnLease {
  readonly ttlMs: number;
  /** As the server has it after the last renewal that was acknowledged. */
  object: LeaseObject;
  /** The moment at which that renewal was sent. */
  sent: Moment;
  renewals: number;
  /** Its end was requested, and may still take place. Renewals prove nothing any more. */
  isOver: boolean;
}

export interface LeaseContext {
  readonly client: Client;
  readonly clock: Clock;
  readonly names: Names;
  readonly keys: KeyObject;
  /** Whether a watch shows a key that is bound to the lease. */
  isWatched(lease: LeaseId): boolean;
  /** How long the server may keep one watch open, in ms. Whole seconds. */
  readonly watchMs: number;
}

export class Leases {
  readonly #context: LeaseContext;
  readonly #objects: LeaseObjects;
  readonly #own = new Map<LeaseId, OwnLease>();
  /** When a call has last met a key of a lease, by the monotonic clock. */
  readonly #metAtMs = new Map<LeaseId, number>();
  readonly #observer: LeaseObserver;
  readonly #watches: LeaseWatches;
  readonly #abandoned: AbandonedLeases;

  constructor(context: LeaseContext) {
    this.#context = context;
    this.#objects = new LeaseObjects(context.client, context.names);
    this.#abandoned = new AbandonedLeases(context.clock);
    const store: ObservedStore = {
      look: (leases) => this.#look(leases),
      end: (lease, version) => this.#expire(lease, version),
      deleteKeys: (lease) => this.#onGone(lease),
      dependsOn: (lease, ttlMs) => this.#dependsOn(lease, ttlMs),
    };
    this.#observer = new LeaseObserver(context.clock, store);
    this.#watches = new LeaseWatches(context, this.#observer);
  }

  async grant(askedMs: number, { at }: LeaseOptions, time: CallTime): Promise<Lease> {
    const { clock, names } = this.#context;
    const ttlMs = Math.ceil(askedMs / 1_000) * 1_000;
    const sent = momentOf(clock);
    const now = microTime(sent.wallMs, 0);
    const name = newLeaseName(names);
    const body = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name, labels: { [LABEL]: names.prefix } },
      spec: { holderIdentity: hostname(), leaseDurationSeconds: ttlMs / 1_000, acquireTime: now, renewTime: now },
    };
    const object = await this.#create(name, body, time);
    this.#own.set(object.id, { ttlMs, object, sent, renewals: 0, isOver: false });
    this.#observer.saw(object.id, viewOf(object));
    return { id: object.id, ttlMs, validFrom: at };
  }

  async renew(lease: LeaseId, { at }: LeaseOptions, time: CallTime): Promise<Renewal> {
    const own = this.#own.get(lease);
    const name = readLeaseId(lease);
    if (own === undefined || name === undefined) throw leaseGone('kubernetes', lease);
    // An observer may be about to end a lease that is this old.
    if (own.isOver || this.#isLate(own)) await this.#endAndReport(lease, time);
    const sent = momentOf(this.#context.clock);
    const object = await this.#putRenewal(name, own, sent, time);
    if (object === undefined || own.isOver) await this.#endAndReport(lease, time);
    else {
      if (sent.monotonicMs > own.sent.monotonicMs) own.sent = sent;
      this.#observer.saw(lease, viewOf(object));
    }
    return { ttlMs: own.ttlMs, validFrom: at };
  }

  async revoke(lease: LeaseId, time: CallTime): Promise<void> {
    const name = readLeaseId(lease);
    if (name === undefined) return;
    const own = this.#own.get(lease);
    if (own !== undefined) own.isOver = true;
    const end = async (within: CallTime): Promise<boolean> => {
      await this.#end(name, within);
      return true;
    };
    try {
      await this.#abandoned.during(end, () => this.#end(name, time));
    } catch (error) {
      this.#abandoned.add(name.name, end);
      throw error;
    }
  }

  /** Whether this store was granted the lease and knows that it has ended, or is about to. */
  isOver(lease: LeaseId): boolean {
    const own = this.#own.get(lease);
    return own !== undefined && (own.isOver || this.#isLate(own));
  }

  /** Whether this store was granted the lease, and it has certainly not ended by itself. */
  isOwn(lease: LeaseId): boolean {
    return this.#own.has(lease) && !this.isOver(lease);
  }

  /**
   * Whether the lease exists now. If not, its keys are deleted before this resolves, as far as they
   * can be.
   */
  async exists(lease: LeaseId, time: CallTime): Promise<boolean> {
    if ((await this.#objects.read(lease, time.left)) !== undefined) return true;
    await this.#removeEnded(lease, time.left);
    return false;
  }

  /**
   * A call or a watch has met keys that are bound to these leases, so the process depends on their
   * end.
   */
  noteMet(leases: Iterable<LeaseId>): void {
    for (const lease of leases) {
      this.#metAtMs.set(lease, this.#nowMs);
      if (!this.#own.has(lease)) this.#observer.observe(lease);
    }
  }

  /**
   * Observes and watches a lease until it has ended, or this process does not depend on it any
   * longer.
   */
  observe(lease: LeaseId): void {
    if (!this.#own.has(lease)) this.#observer.observe(lease);
    this.#watches.add(lease);
  }

  /** Undefined for a lease that has ended. */
  ticketOf(lease: LeaseId): string | undefined {
    return this.#own.get(lease)?.isOver === false ? lease : undefined;
  }

  /** Ends the leases that nobody uses, as far as the server answers within a short time. */
  async close(): Promise<void> {
    this.#observer.close();
    this.#watches.close();
    this.#metAtMs.clear();
    await this.#abandoned.close();
  }

  get #background(): AttemptOptions {
    return { timeoutMs: BACKGROUND_TIMEOUT_MS, background: true };
  }

  /** If the server may create the object although this rejects, the object is deleted later. */
  async #create(name: string, body: Fields, time: CallTime): Promise<LeaseObject> {
    const { clock } = this.#context;
    let isSent = false;
    let lateAtMs = Number.POSITIVE_INFINITY;
    const end = async (within: CallTime): Promise<boolean> => {
      const isDeleted = await this.#objects.delete(name, {}, within.left);
      return isDeleted || clock.monotonic() >= lateAtMs;
    };
    try {
      return await this.#abandoned.during(end, () => this.#objects.create(body, time.left, () => (isSent = true)));
    } catch (error) {
      lateAtMs = clock.monotonic() + LATE_CREATION_MS;
      if (isSent && mayBeApplied(error)) this.#abandoned.add(name, end);
      throw error;
    }
  }

  /**
   * Deletes the keys of the lease, and then the lease. In this order, the keys are gone also if
   * only the first request arrives. Another process may bind a key to the lease in between, so the
   * keys are checked once more.
   */
  async #end(name: LeaseName, time: CallTime): Promise<void> {
    const lease = leaseIdOf(name);
    await this.#deleteKeys(lease, time.left);
    try {
      await this.#objects.delete(name.name, { uid: name.uid }, time.left);
      await this.#removeEnded(lease, time.left);
    } catch (error) {
      throw afterWriting(error, 'revocation');
    }
  }

  /** Undefined if the lease is certainly gone. */
  async #putRenewal(name: LeaseName, own: OwnLease, sent: Moment, time: CallTime): Promise<LeaseObject | undefined> {
    for (let known: LeaseObject | undefined = own.object; known !== undefined;) {
      own.renewals += 1;
      const body = renewed(known, own.ttlMs, microTime(sent.wallMs, own.renewals));
      const answer = await this.#objects.update(name.name, body, time.left);
      if (typeof answer !== 'string') {
        own.object = answer;
        return answer;
      }
      // An earlier renewal whose answer was lost has changed the object, or somebody else has.
      known = answer === 'gone' ? undefined : await this.#objects.read(leaseIdOf(name), time.left, 'renewals');
    }
    return undefined;
  }

  /** Ends the lease, so that it is certainly gone, and reports that. */
  async #endAndReport(lease: LeaseId, time: CallTime): Promise<never> {
    await this.revoke(lease, time);
    throw leaseGone('kubernetes', lease);
  }

  async #look(leases: readonly LeaseId[]): Promise<ReadonlyMap<LeaseId, LeaseView>> {
    const listed = leases.length > MAX_SINGLE_READS ? await this.#objects.list(this.#background) : undefined;
    const found = await Promise.all(leases.map(async (lease) => listed?.get(lease) ?? this.#objects.read(lease, this.#background)));
    return new Map(
      leases.flatMap((lease, index) => {
        const object = found[index];
        return object === undefined ? [] : [[lease, viewOf(object)]];
      }),
    );
  }

  async #expire(lease: LeaseId, version: string): Promise<void> {
    const name = readLeaseId(lease);
    const [, resourceVersion] = version.split(' ');
    if (name === undefined || resourceVersion === undefined) return;
    await this.#objects.delete(name.name, { uid: name.uid, resourceVersion }, this.#background);
  }

  /** For a lease that another process or an operator has ended. */
  async #onGone(lease: LeaseId): Promise<void> {
    const own = this.#own.get(lease);
    // Before the keys disappear, so that nothing is bound to the lease any more.
    if (own !== undefined) own.isOver = true;
    await this.#removeEnded(lease, this.#background);
  }

  async #deleteKeys(lease: LeaseId, options: AttemptOptions): Promise<void> {
    await this.#context.keys.change((draft) => ({ result: draft.deleteBoundTo(lease), needsFresh: false }), options);
  }

  /** Deletes the keys of a lease that is certainly gone. */
  async #removeEnded(lease: LeaseId, options: AttemptOptions): Promise<void> {
    await this.#deleteKeys(lease, options);
    this.#own.delete(lease);
    this.#metAtMs.delete(lease);
    this.#observer.drop(lease);
  }

  #dependsOn(lease: LeaseId, ttlMs: number | undefined): boolean {
    if (this.#own.has(lease) || this.#context.isWatched(lease)) return true;
    const metAtMs = this.#metAtMs.get(lease) ?? Number.NEGATIVE_INFINITY;
    const isMet = metAtMs + (ttlMs === undefined ? FIRST_INTEREST_MS : INTEREST_TTLS * ttlMs) > this.#nowMs;
    if (!isMet) this.#metAtMs.delete(lease);
    return isMet;
  }

  get #nowMs(): number {
    return this.#context.clock.monotonic();
  }

  /**
   * Whether the whole ttl has passed. Not earlier: the holder relies on the lease until shortly
   * before. Compares both clocks, because one of them may stop while the machine is suspended.
   */
  #isLate({ ttlMs, sent }: OwnLease): boolean {
    const now = momentOf(this.#context.clock);
    return Math.max(now.monotonicMs - sent.monotonicMs, now.wallMs - sent.wallMs) >= ttlMs;
  }
}
