/**
 * The sidecar: one member of the store for any number of clients. It keeps their candidacies by
 * election and id, their memberships of groups, and reads for them who leads. `http/` serves it.
 */

import {
  type CandidateView,
  type Cancel,
  type Clock,
  ElectionAdmin,
  ElectionObserver,
  type ElectionView,
  type Entry,
  IncumbentError,
  type LeaderView,
  type LeadershipEndReason,
  type Logger,
  Member,
  type Random,
  type Store,
} from '@incumbent/core';
import { checkName, systemClock } from '@incumbent/core/adapter';

import { onOwnEvent } from '../common/own-events.ts';
import { ApiError } from './api-error.ts';
import { Candidacy, type CandidacyContext, type CandidacySettings, type OverEvent } from './candidacy.ts';
import { ElectionQueue } from './election-queue.ts';
import { Memberships, type MembershipsContext } from './memberships.ts';
import { checkElectionValue, checkGroupValue } from './value-size.ts';

/** The most candidacies of one sidecar, and the most elections that it takes part in or watches. */
const MAX_CANDIDACIES = 10_000;
const MAX_ELECTIONS = 10_000;
/** The keys of the SDK. */
const RESERVED = /^(elections|members|groups)(\/|$)/;

export interface SidecarOptions {
  readonly memberId: string;
  readonly ttlMs: number;
  readonly drainMs: number;
  readonly acceptWeakStore?: string | undefined;
  readonly logger?: Logger;
  readonly clock?: Clock;
  readonly random?: Random;
  /** The most elections that it takes part in at the same time. Default 10,000. */
  readonly maxElections?: number;
  /** The most elections that it watches at the same time. Default 10,000. */
  readonly maxWatched?: number;
  /** The most groups that it joins, with those that it has left. Default 10,000. */
  readonly maxGroups?: number;
  /** Called if a candidacy's value could not be published. */
  readonly publishFailed?: CandidacyContext['publishFailed'];
  /** Called when a candidacy is over, before its leadership ends. */
  readonly over?: (candidacy: Candidacy, event: OverEvent) => void;
  /** Called if a group cannot be joined, or joined again, and a retry would fail again. */
  readonly joinFailed?: MembershipsContext['failed'];
  /** Called if a group cannot show the new value of its client. */
  readonly groupValueFailed?: MembershipsContext['publishFailed'];
  /** Called when a candidacy is elected, and when its term ends. */
  readonly elected?: (candidacy: Candidacy, term: bigint) => void;
  readonly ended?: (candidacy: Candidacy, term: bigint, reason: LeadershipEndReason) => void;
  /** Called if the client has not said within the drain that the work of the term has stopped. */
  readonly stuck?: (candidacy: Candidacy, term: bigint) => void;
}

interface SharedObserver {
  readonly observer: ElectionObserver;
  users: number;
}

export class Sidecar implements AsyncDisposable {
  readonly member: Member;
  readonly memberships: Memberships;
  readonly #store: Store;
  readonly #options: SidecarOptions;
  readonly #clock: Clock;
  readonly #queues = new Map<string, ElectionQueue>();
  /** The elections that the member has made, with their options. It keeps them until it closes. */
  readonly #made = new Set<string>();
  /** The lease of the last leadership of each election: a member may have several. */
  readonly #leases = new Map<string, unknown>();
  readonly #candidacies = new Map<string, Candidacy>();
  readonly #observers = new Map<string, SharedObserver>();
  readonly #stops: Cancel[];
  #isClosing = false;

  constructor(store: Store, options: SidecarOptions) {
    const { memberId, ttlMs, drainMs, logger, clock, random } = options;
    this.#store = store;
    this.#options = options;
    this.#clock = clock ?? systemClock;
    const given = { ...(clock === undefined ? {} : { clock }), ...(random === undefined ? {} : { random }) };
    this.member = new Member(store, { memberId, ttlMs, drainMs, logger, ...given });
    const { joinFailed = () => {}, groupValueFailed = () => {} } = options;
    this.memberships = new Memberships({
      clock: this.#clock,
      member: this.member,
      newReader: () => new Member(store, { ttlMs, drainMs, ...given }),
      checkValue: (value) => checkGroupValue(store, this.member, value),
      failed: joinFailed,
      publishFailed: groupValueFailed,
      ...(options.maxGroups === undefined ? {} : { maxGroups: options.maxGroups }),
    });
    this.#stops = [
      onOwnEvent(this.member, 'elected', ({ election, lease }) => this.#leases.set(String(election), lease)),
      onOwnEvent(this.member, 'sessionSuspect', ({ lease }) => this.#sawSuspect(lease, true)),
      onOwnEvent(this.member, 'sessionRecovered', ({ lease }) => this.#sawSuspect(lease, false)),
      onOwnEvent(this.member, 'stuck', ({ election, term }) => this.#sawStuck(String(election), term)),
      onOwnEvent(this.member, 'groupLeft', ({ group, error }) => this.memberships.groupLeft(String(group), error)),
      onOwnEvent(this.member, 'groupRejoined', ({ group }) => this.memberships.groupRejoined(String(group))),
    ];
  }

  /** How many candidacies there are. */
  get size(): number {
    return this.#candidacies.size;
  }

  /**
   * Checks that candidacies of the election can be created. Does no I/O.
   *
   * @throws `TOO_MANY`, `INVALID_NAME`, `WEAK_STORE`, or `MEMBER_CLOSED`.
   */
  checkCanCampaign(election: string): void {
    this.#queue(checkName('election', election));
  }

  /**
   * Creates a candidacy, which waits in the election's queue from now on.
   *
   * @throws `CANDIDACY_EXISTS`, `TOO_MANY`, `INVALID_NAME`, `WEAK_STORE`, `MEMBER_CLOSED`, or
   *   `TOO_LARGE` or `INVALID_OPTION` if the store cannot hold the value.
   */
  create(election: string, id: string, settings: CandidacySettings): Candidacy {
    // Not only the member: the queue of an election that it takes part in would accept a candidacy.
    if (this.#isClosing) throw new IncumbentError('MEMBER_CLOSED', 'the sidecar is closing: use another one');
    checkName('election', election);
    checkName('candidacy', id);
    const key = keyOf(election, id);
    const known = this.#candidacies.get(key);
    if (known !== undefined)
      throw new ApiError(
        'CANDIDACY_EXISTS',
        `the election "${election}" already has a candidacy "${id}", which ${known.endsWhen}: use another id, or try again then`,
      );
    if (this.#candidacies.size >= MAX_CANDIDACIES)
      throw new ApiError('TOO_MANY', `the sidecar has ${MAX_CANDIDACIES} candidacies, and takes no more`);
    const queue = this.#queue(election);
    const candidacy = new Candidacy(this.#contextOf(election, queue), election, id, settings);
    this.#candidacies.set(key, candidacy);
    queue.join(candidacy);
    return candidacy;
  }

  /** Undefined if there is none. */
  find(election: string, id: string): Candidacy | undefined {
    return this.#candidacies.get(keyOf(election, id));
  }

  /** Reads who leads, by a linearizable read. Undefined if nobody leads. */
  async leader(election: string): Promise<LeaderView | undefined> {
    return new ElectionObserver(this.#store, election).leader();
  }

  /** Reads the candidates of all members, the leader first. A sidecar is one of them. */
  async candidates(election: string): Promise<readonly CandidateView[]> {
    const { candidates } = await new ElectionAdmin(this.#store, election).state();
    return candidates;
  }

  /** Reads a key outside the SDK's own. @throws `FORBIDDEN` for those, and `INVALID_OPTION`. */
  async read(key: string): Promise<Entry | undefined> {
    if (RESERVED.test(key)) throw new ApiError('FORBIDDEN', 'the keys below elections/, members/ and groups/ are the own ones of the SDK');
    return this.#store.read(key, { timeoutMs: this.member.timing.callTimeoutMs });
  }

  /**
   * Checks that the election can be observed: an event stream has no error to answer once it has
   * begun.
   *
   * @throws `TOO_MANY` or `INVALID_NAME`.
   */
  checkCanObserve(election: string): void {
    const { maxWatched = MAX_ELECTIONS } = this.#options;
    if (this.#observers.has(checkName('election', election)) || this.#observers.size < maxWatched) return;
    throw new ApiError('TOO_MANY', `the sidecar watches ${maxWatched} elections, and no more`);
  }

  /**
   * Calls the listener with every view of an election. All listeners of an election share a watch.
   *
   * @throws `TOO_MANY` or `INVALID_NAME`.
   */
  observe(election: string, listener: (view: ElectionView) => void): Cancel {
    this.checkCanObserve(election);
    const shared = this.#observers.get(election) ?? this.#newObserver(election);
    shared.users += 1;
    const stop = shared.observer.subscribe(listener);
    return () => {
      stop();
      shared.users -= 1;
      if (shared.users > 0) return;
      this.#observers.delete(election);
      void shared.observer.close();
    };
  }

  /**
   * Ends all candidacies. Their clients have the drain to stop their work and to say so. Then ends
   * the lease.
   */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.memberships.close();
    for (const candidacy of this.#candidacies.values()) candidacy.end('closing');
    await this.member.shutdown();
    for (const stop of this.#stops.splice(0)) stop();
    for (const { observer } of this.#observers.values()) await observer.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #queue(name: string): ElectionQueue {
    const known = this.#queues.get(name);
    if (known !== undefined) return known;
    const { acceptWeakStore, maxElections = MAX_ELECTIONS } = this.#options;
    if (this.#queues.size >= maxElections) this.#forgetIdleQueues();
    if (this.#queues.size >= maxElections)
      throw new ApiError('TOO_MANY', `the sidecar takes part in ${maxElections} elections, and in no more`);
    // The member takes options only when it makes the election.
    const election = this.#made.has(name) ? this.member.election(name) : this.member.election(name, { acceptWeakStore });
    this.#made.add(name);
    const queue = new ElectionQueue(election);
    this.#queues.set(name, queue);
    return queue;
  }

  /** A candidacy that still exists may join its queue again. */
  #forgetIdleQueues(): void {
    const used = new Set([...this.#candidacies.values()].map(({ election }) => election));
    for (const [name, { isRunning }] of this.#queues) if (!isRunning && !used.has(name)) this.#queues.delete(name);
  }

  #newObserver(name: string): SharedObserver {
    const { clock, random } = this.#options;
    const given = { ...(clock === undefined ? {} : { clock }), ...(random === undefined ? {} : { random }) };
    const shared = { observer: new ElectionObserver(this.#store, name, given), users: 0 };
    this.#observers.set(name, shared);
    return shared;
  }

  #contextOf(election: string, queue: ElectionQueue): CandidacyContext {
    return {
      clock: this.#clock,
      memberId: this.member.memberId,
      drainMs: this.member.timing.drainMs,
      checkValue: (value) => checkElectionValue(this.#store, this.member, election, value),
      over: (candidacy, event) => {
        queue.leave(candidacy);
        this.#options.over?.(candidacy, event);
        // While the sidecar closes, the client can still say that its work has stopped.
        if (!this.#isClosing) this.#candidacies.delete(keyOf(candidacy.election, candidacy.id));
      },
      elected: (candidacy, term) => this.#options.elected?.(candidacy, term),
      ended: (candidacy, term, reason) => this.#options.ended?.(candidacy, term, reason),
      publishFailed: (candidacy, error) => this.#options.publishFailed?.(candidacy, error),
    };
  }

  #sawSuspect(lease: unknown, isSuspect: boolean): void {
    for (const [election, { leads }] of this.#queues) if (this.#leases.get(election) === lease) leads?.sawSuspect(isSuspect);
  }

  #sawStuck(election: string, term: unknown): void {
    const leads = this.#queues.get(election)?.leads;
    if (leads !== undefined && typeof term === 'bigint') this.#options.stuck?.(leads, term);
  }
}

/** Names contain no slash. */
function keyOf(election: string, id: string): string {
  return `${election}/${id}`;
}
