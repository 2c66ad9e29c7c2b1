/** The `Lease` that shows the leader. Its form is that of client-go's elections. */

import type { Clock } from '@incumbent/core';

import { LEASES } from '../names.ts';
import { fields, optionalFields, textFields, type Fields } from '../objects/json.ts';
import { microTime } from '../objects/lease.ts';
import { identityOf } from '../objects/metadata.ts';
import type { Cluster } from '../store.ts';
import { Objects } from './objects.ts';
import { foreign, overtaken, SentWrites, untilUnchanged, type Part, type PublishedTerm } from './part.ts';

/**
 * The annotations of a published Lease: the store's prefix and the election, and the exact term.
 */
const ELECTION = 'incumbent/election';
const TERM = 'incumbent/term';

/** `leaseTransitions` is an int32. A higher term stands in the annotation alone. */
const MAX_TRANSITIONS = 2 ** 31 - 1;

/** As client-go has it in a Lease that was released. */
const RELEASED_SECONDS = 1;

export interface LeasePartOptions {
  readonly lease: string;
  readonly election: string;
  readonly durationMs: number;
}

/** What Events need of the object. */
export interface LeaseReference {
  readonly name: string;
  readonly uid: string;
  readonly version: string;
}

export class LeasePart implements Part {
  readonly #objects: Objects;
  readonly #clock: Clock;
  readonly #options: LeasePartOptions;
  readonly #owner: string;
  readonly #term: PublishedTerm;
  readonly #what: string;
  readonly #acquiredMs: number;
  readonly #published = Promise.withResolvers<LeaseReference>();
  /** As the server had it after the last write. The next write is conditional on it. */
  #known: Fields | undefined;
  readonly #sent = new SentWrites();
  #writes = 0;

  constructor(cluster: Cluster, term: PublishedTerm, options: LeasePartOptions) {
    this.#what = `publishing the leader in the Lease ${options.lease}`;
    this.#objects = new Objects(cluster, LEASES, this.#what);
    this.#clock = cluster.clock;
    this.#options = options;
    this.#owner = `${cluster.prefix}/${options.election}`;
    this.#term = term;
    this.#acquiredMs = cluster.clock.wall();
  }

  /** Resolves when the Lease shows this term for the first time. */
  get published(): Promise<LeaseReference> {
    return this.#published.promise;
  }

  async publish(signal: AbortSignal): Promise<void> {
    const { memberId, term } = this.#term;
    const written = await untilUnchanged(this.#what, async () => {
      const current = await this.#current(signal);
      const { isMine, term: seen } = this.#read(current);
      if (isMine && seen > term) throw overtaken(this.#what, { term, seen, remedy: 'delete the Lease' });
      const { holderIdentity: holder = '' } = textFields(optionalFields(current?.['spec']));
      if (!isMine && holder !== '')
        throw foreign(this.#what, `it shows "${holder}" and does not belong to this election. Delete it, or choose another name`);
      if (!this.#term.isValid()) return undefined;
      return (await this.#write(current, memberId, this.#options.durationMs / 1_000, signal)) ?? 'changed';
    });
    if (written === undefined) return;
    const { uid, version } = identityOf(written);
    this.#published.resolve({ name: this.#options.lease, uid, version });
  }

  /**
   * Clears the holder. Writes also if the object does not show this term: a request of this term
   * may still be under way, and no longer finds the version that it names.
   */
  async withdraw(signal: AbortSignal): Promise<void> {
    if (!this.#sent.mayExist) return;
    await untilUnchanged(this.#what, async () => {
      const current = await this.#current(signal);
      const { isMine, term } = this.#read(current);
      if (current !== undefined && (!isMine || term > this.#term.term)) return undefined;
      const { holderIdentity: holder = '' } = textFields(optionalFields(current?.['spec']));
      if (term === this.#term.term && holder === '') return undefined;
      return (await this.#write(current, '', RELEASED_SECONDS, signal)) ?? 'changed';
    });
  }

  /** What is known or read now. Used once: after a write that fails, the object is read again. */
  async #current(signal: AbortSignal): Promise<Fields | undefined> {
    const known = this.#known;
    this.#known = undefined;
    return known ?? (await this.#objects.get(this.#options.lease, signal));
  }

  /** Whether this election has published the object, and for which term. */
  #read(object: Fields | undefined): { readonly isMine: boolean; readonly term: bigint } {
    if (object === undefined) return { isMine: false, term: 0n };
    const { [ELECTION]: owner, [TERM]: term = '' } = textFields(optionalFields(fields(object['metadata'])['annotations']));
    const { leaseTransitions } = optionalFields(object['spec']);
    const shown = Number.isSafeInteger(leaseTransitions) ? BigInt(String(leaseTransitions)) : 0n;
    return { isMine: owner === this.#owner, term: /^\d{1,20}$/.test(term) ? BigInt(term) : shown };
  }

  /** Creates or replaces the object. Undefined if it has changed since it was read. */
  async #write(current: Fields | undefined, holder: string, seconds: number, signal: AbortSignal): Promise<Fields | undefined> {
    const { term } = this.#term;
    this.#writes += 1;
    const metadata = optionalFields(current?.['metadata']);
    const annotations = { ...optionalFields(metadata['annotations']), [ELECTION]: this.#owner, [TERM]: String(term) };
    const spec = {
      ...optionalFields(current?.['spec']),
      holderIdentity: holder,
      leaseDurationSeconds: Math.ceil(seconds),
      acquireTime: microTime(this.#acquiredMs, 0),
      renewTime: microTime(this.#clock.wall(), this.#writes),
      leaseTransitions: Number(term > BigInt(MAX_TRANSITIONS) ? MAX_TRANSITIONS : term),
    };
    const object = { ...current, metadata: { ...metadata, name: this.#options.lease, annotations }, spec };
    const isNew = current === undefined;
    this.#known = await this.#sent.make(() => (isNew ? this.#objects.create(object, signal) : this.#objects.replace(object, signal)));
    return this.#known;
  }
}
