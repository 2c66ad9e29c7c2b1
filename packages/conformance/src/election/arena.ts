/**
 * The setting of election cases: members on one store. It records every leadership, and checks the
 * history at the end.
 */

import assert from 'node:assert/strict';
import diagnosticsChannel from 'node:diagnostics_channel';
import {
  ElectionObserver,
  isIncumbentError,
  isRetryable,
  Member,
  type Election,
  type ElectionOptions,
  type ElectionView,
  type Leadership,
  type LeadershipEnd,
  type MemberOptions,
  type Store,
  type TelemetryEvent,
} from '@incumbent/core';
import { PausableClock } from '@incumbent/core/testing';
import type { Cluster, FaultKind, Faults, FaultyClient, Operator, Server, StoreHarness } from '../harness.ts';
import { checkHistory, type HistoryEvent, type HistoryRules } from '../check-history.ts';
import { begun, sleep, until, type Seen } from '../time.ts';

/** The name of the election that all cases use. */
export const NAME = 'controller';

/**
 * A member whose elections accept a store that is not linearizable, because these cases hold on
 * every store.
 */
class WeakStoreMember extends Member {
  readonly #weak: Pick<ElectionOptions, 'acceptWeakStore'>;
  readonly #names = new Set<string>();

  constructor(store: Store, options: MemberOptions) {
    super(store, options);
    this.#weak = store.capabilities.linearizable ? {} : { acceptWeakStore: store.name };
  }

  override election<V = unknown>(name: string, options?: ElectionOptions<V>): Election<V> {
    // Only the first call for a name may pass options.
    const isFirst = !this.#names.has(name);
    this.#names.add(name);
    return super.election(name, isFirst ? { ...this.#weak, ...options } : options);
  }
}

export interface TestMember {
  readonly member: Member;
  readonly store: Store;
  /**
   * A clock that can be stopped and resumed, like the clock of a process under SIGSTOP and SIGCONT.
   */
  readonly clock: PausableClock;
}

export interface FaultyTestMember extends TestMember {
  readonly faults: Faults;
  readonly client: FaultyClient;
}

export class Arena {
  readonly harness: StoreHarness;
  readonly #memberTtlMs: number;
  readonly events: HistoryEvent[] = [];
  /** The current leaderships, each with the name of its election. */
  readonly #leaderships = new Map<Leadership, string>();
  readonly #members = new Set<Member>();
  readonly #observers = new Set<ElectionObserver>();
  readonly #stores = new Set<Store>();
  readonly #samplingDone: Promise<void>;
  readonly #unsubscribes: (() => void)[] = [];
  #sampling = true;

  /** `calm`: the leases of its members last `calmTtlMs`. */
  constructor(harness: StoreHarness, calm = false) {
    this.harness = harness;
    this.#memberTtlMs = calm ? this.calmTtlMs : this.ttlMs;
    this.#samplingDone = this.#sample();
  }

  get ttlMs(): number {
    return this.harness.ttlMs;
  }

  /** A ttl so long that no lease expires because the machine is busy. */
  get calmTtlMs(): number {
    return 2 * (this.ttlMs + this.harness.slackMs);
  }

  /**
   * A dead leader has a successor after this many ms on a healthy machine: the lease expires, and
   * some calls follow.
   */
  failoverMs(store: Store): number {
    return store.capabilities.expiresWithinMs(this.#memberTtlMs) + 4 * this.harness.timeoutMs + this.harness.slackMs;
  }

  /** Enough for a few calls on a healthy link, in ms. */
  get soonMs(): number {
    return 4 * this.harness.timeoutMs + this.harness.slackMs;
  }

  /** Direct access to the store for a case that needs an operator. */
  get operator(): Operator {
    return declared(this.harness.operator, 'an operator');
  }

  get server(): Server {
    return declared(this.harness.server, 'a server');
  }

  get cluster(): Cluster {
    return declared(this.harness.cluster, 'a cluster');
  }

  async member(memberId: string, options: MemberOptions = {}): Promise<TestMember> {
    return this.memberOn(await this.open(), memberId, options);
  }

  /** A member on a store that the case has derived from a store of this arena. */
  memberOn(store: Store, memberId: string, options: MemberOptions = {}): TestMember {
    this.#stores.add(store);
    const clock = new PausableClock(this.harness.clock);
    const member = new WeakStoreMember(store, { memberId, ttlMs: this.#memberTtlMs, clock, ...options });
    this.#members.add(member);
    this.#recordTelemetry(member);
    return { member, store, clock };
  }

  /** Opens another client that is not a member. */
  async open(): Promise<Store> {
    const store = await this.harness.open();
    this.#stores.add(store);
    return store;
  }

  /** Opens a client whose link can be broken. `fault`: the fault that the case needs. */
  async openFaulty(fault?: FaultKind): Promise<FaultyClient> {
    assert.ok(this.harness.faulty !== undefined, 'the case names the faults that it needs');
    const client = await this.harness.faulty(fault);
    this.#stores.add(client.store);
    return client;
  }

  /** Opens a member whose link can be broken. */
  async faultyMember(memberId: string, options: MemberOptions = {}): Promise<FaultyTestMember> {
    const client = await this.openFaulty();
    return { ...this.memberOn(client.store, memberId, options), faults: client.faults, client };
  }

  /** Campaigns, and records the result. The promise may be awaited later. */
  campaign(candidate: TestMember, options?: ElectionOptions, signal?: AbortSignal): Promise<Leadership> {
    return begun(this.#campaign(candidate, options, signal));
  }

  async #campaign(candidate: TestMember, options?: ElectionOptions, signal?: AbortSignal): Promise<Leadership> {
    const election = candidate.member.election(NAME, options);
    const leadership = await election.campaign(signal === undefined ? {} : { signal });
    this.record(leadership);
    return leadership;
  }

  record(leadership: Leadership, election: string = NAME): void {
    const { term, memberId: member } = leadership;
    this.#leaderships.set(leadership, election);
    this.events.push({ type: 'elected', at: this.now(), election, member, term });
    leadership.signal.addEventListener('abort', () => {
      this.events.push({ type: 'ended', at: this.now(), election, member, term, reason: reasonOf(leadership) });
      this.#leaderships.delete(leadership);
      // `isValid()` must return false before the signal aborts.
      this.#sampleOne(leadership, election);
    });
    // A leadership that is still valid at this moment is a second one.
    this.sample();
  }

  /** Calls `isValid()` of every current leadership, and records those that are valid. */
  sample(): void {
    for (const [leadership, election] of this.#leaderships) this.#sampleOne(leadership, election);
  }

  #sampleOne(leadership: Leadership, election: string): void {
    if (!leadership.isValid()) return;
    this.events.push({ type: 'valid', at: this.now(), election, member: leadership.memberId, term: leadership.term });
  }

  /**
   * The n-th term of this arena. It is n if the store's terms count from 1. If they start at a time
   * of the store's clock, it counts from the first term that was recorded.
   */
  term(n: bigint): bigint {
    const isFromClock = [...this.#stores].some(({ capabilities }) => capabilities.termSource === 'clock');
    const first = this.events.find(({ type }) => type === 'elected');
    return isFromClock && first?.type === 'elected' ? first.term + n - 1n : n;
  }

  now(): number {
    return this.harness.clock.monotonic();
  }

  observer(store: Store, name: string = NAME): ElectionObserver {
    const observer = new ElectionObserver(store, name, { clock: this.harness.clock, callTimeoutMs: this.harness.timeoutMs });
    this.#observers.add(observer);
    return observer;
  }

  /**
   * A condition that reads a store that does not answer now counts as not yet true. If it does not
   * become true, the last error of the store is the cause.
   */
  async until(condition: () => boolean | Promise<boolean>, what: string, withinMs: number = this.soonMs): Promise<void> {
    let last: Seen | undefined;
    const holds = async (): Promise<boolean> => {
      try {
        return await condition();
      } catch (error) {
        if (!isIncumbentError(error) || !isRetryable(error)) throw error;
        last = { text: `the last error of a check: ${error.code} ${error.message}`, cause: error };
        return false;
      }
    };
    await until(this.harness.clock, holds, { withinMs, what, seen: () => last });
  }

  async sleep(ms: number): Promise<void> {
    await sleep(this.harness.clock, ms);
  }

  /** The names of these telemetry events of the member from now on, in order. */
  recordedEvents({ member }: TestMember, ...events: readonly TelemetryEvent[]): readonly string[] {
    const reported: string[] = [];
    for (const event of events) this.#listen(event, member.incarnation, () => reported.push(event));
    return reported;
  }

  /** The history includes what telemetry reports about leaderships. */
  #recordTelemetry({ incarnation, memberId: member }: Member): void {
    for (const event of ['elected', 'ended'] as const) {
      this.#listen(event, incarnation, (fields) => {
        const { term, election } = fields;
        assert.ok(typeof term === 'bigint' && typeof election === 'string', `${event} tells no term, or of no election`);
        this.events.push({ type: 'reported', event, at: this.now(), election, member, term });
      });
    }
  }

  #listen(event: TelemetryEvent, incarnation: string, handle: (fields: Readonly<Record<string, unknown>>) => void): void {
    const name = `incumbent:${event}`;
    const listen = (fields: unknown): void => {
      if (isRecord(fields) && fields['incarnation'] === incarnation) handle(fields);
    };
    diagnosticsChannel.subscribe(name, listen);
    this.#unsubscribes.push(() => diagnosticsChannel.unsubscribe(name, listen));
  }

  /** Waits until this member has an entry in the queue. */
  async queued(candidate: TestMember, memberId: string = candidate.member.memberId): Promise<void> {
    const election = candidate.member.election(NAME);
    await this.until(async () => (await election.candidates()).some((one) => one.memberId === memberId), `${memberId} is in the queue`);
  }

  async sees(observer: ElectionObserver, accept: (view: ElectionView) => boolean, what: string, withinMs?: number): Promise<void> {
    await this.until(() => accept(observer.current), `the observer shows ${what}`, withinMs);
  }

  /** Checks the history. Every case must end with this call. */
  async close(rules: HistoryRules = {}): Promise<void> {
    await Promise.all([...this.#observers].map((observer) => observer.close()));
    await Promise.all([...this.#members].map((member) => member.close()));
    this.#sampling = false;
    await this.#samplingDone;
    for (const stop of this.#unsubscribes) stop();
    assert.deepEqual(checkHistory(this.events, rules), [], 'the history keeps every promise');
    await this.#nothingLeft();
  }

  /**
   * Checks that members leave nothing but the terms that were issued. The keys of a member that was
   * cut off end with its lease.
   */
  async #nothingLeft(): Promise<void> {
    const store = await this.open();
    const left = async (): Promise<readonly string[]> => {
      const lists = ['elections', 'members', 'groups'].map((prefix) => store.list(prefix, { timeoutMs: this.harness.timeoutMs }));
      return (await Promise.all(lists)).flat().flatMap(({ key }) => (key.endsWith('/term') ? [] : [key]));
    };
    await this.until(async () => (await left()).length === 0, 'nothing of the members is left in the store', this.failoverMs(store));
    await Promise.all([...this.#stores].map((open) => open.close()));
    const leaks = await this.harness.leaks?.();
    assert.deepEqual(leaks ?? [], [], 'nothing is left running');
  }

  async #sample(): Promise<void> {
    while (this.#sampling) {
      this.sample();
      await sleep(this.harness.clock, Math.max(this.ttlMs / 50, 10));
    }
  }
}

/** Lets `a` lead. `b`, by default another member, waits next in line. */
export async function leaderAndNext<A extends TestMember>(
  arena: Arena,
  a: A,
  b?: TestMember,
): Promise<{ readonly a: A; readonly first: Leadership; readonly next: Promise<Leadership> }> {
  const waiting = b ?? (await arena.member('b'));
  const first = await arena.campaign(a);
  const next = arena.campaign(waiting);
  await arena.queued(waiting);
  return { a, first, next };
}

export interface Queued {
  readonly first: Leadership;
  /** The campaign of the second member. It ends when `cancel` aborts. */
  readonly second: Promise<Leadership>;
  readonly cancel: AbortController;
  readonly third: Promise<Leadership>;
}

/** The first member leads, and the two others wait behind it in this order. */
export async function leaderAndTwo(arena: Arena, [leader, waiter, last]: readonly [TestMember, TestMember, TestMember]): Promise<Queued> {
  const first = await arena.campaign(leader);
  const cancel = new AbortController();
  const second = arena.campaign(waiter, undefined, cancel.signal);
  await arena.queued(leader, waiter.member.memberId);
  const third = arena.campaign(last);
  await arena.queued(leader, last.member.memberId);
  return { first, second, cancel, third };
}

export interface ForeignEntry {
  readonly name: string;
  readonly value: string;
  readonly ttlMs: number;
}

/**
 * Adds an entry to the queue under a live lease of a client that is no member, and so never claims.
 */
export async function enqueueForeign(
  arena: Arena,
  { name, value, ttlMs }: ForeignEntry,
): Promise<{ remove(): Promise<unknown>; revokeLease(): Promise<void> }> {
  const client = await arena.open();
  const { timeoutMs, clock } = arena.harness;
  const at = { monotonicMs: clock.monotonic(), wallMs: clock.wall() };
  const lease = await client.grantLease(Math.min(client.capabilities.maxTtlMs, ttlMs), { at, timeoutMs });
  const entry = await client.enqueue(`elections/${NAME}/candidates`, name, new TextEncoder().encode(value), lease.id, { timeoutMs });
  return {
    remove: () => client.compareAndSwap([{ key: entry.key, expect: entry.revision, delete: true }], { timeoutMs }),
    revokeLease: () => client.revokeLease(lease.id, { timeoutMs }),
  };
}

/** Waits for the end of a leadership. Rejects if it takes too long. */
export async function endOf(arena: Arena, leadership: Leadership, withinMs: number): Promise<LeadershipEnd> {
  let end: LeadershipEnd | undefined;
  void leadership.ended.then((ended) => {
    end = ended;
  });
  await arena.until(() => end !== undefined, `leadership of term ${leadership.term} ends`, withinMs);
  assert.ok(end !== undefined);
  return end;
}

/** Throws if the case uses something that its declaration does not name. */
function declared<T>(part: T | undefined, what: string): T {
  assert.ok(part !== undefined, `a case that uses ${what} must declare that need`);
  return part;
}

function reasonOf({ signal }: Leadership): string {
  const reason: unknown = signal.reason;
  if (typeof reason !== 'object' || reason === null || !('details' in reason)) return '';
  const { details } = reason;
  return typeof details === 'object' && details !== null && 'reason' in details ? String(details.reason) : '';
}

function isRecord(fields: unknown): fields is Readonly<Record<string, unknown>> {
  return typeof fields === 'object' && fields !== null;
}
