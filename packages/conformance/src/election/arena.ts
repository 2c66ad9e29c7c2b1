/** Where election cases take place: members on one store, every leadership recorded, and the history checked at the end. */

import assert from 'node:assert/strict';
import diagnosticsChannel from 'node:diagnostics_channel';
import {
  ElectionObserver,
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
import type { FaultKind, Faults, FaultyClient, Operator, StoreHarness } from '../harness.ts';
import { checkHistory, type HistoryEvent, type HistoryRules } from '../history.ts';
import { begun, sleep, until } from '../time.ts';

/** The election that all cases hold. */
export const NAME = 'controller';

/** Every election of its accepts a store that is not linearizable: what must hold on any store is what is asked here. */
class WeakStoreMember extends Member {
  readonly #acceptWeakStore: string;
  readonly #names = new Set<string>();

  constructor(store: Store, options: MemberOptions) {
    super(store, options);
    this.#acceptWeakStore = store.name;
  }

  override election<V = unknown>(name: string, options?: ElectionOptions<V>): Election<V> {
    // Options are those of the first call.
    const isFirst = !this.#names.has(name);
    this.#names.add(name);
    return super.election(name, isFirst ? { acceptWeakStore: this.#acceptWeakStore, ...options } : options);
  }
}

export interface TestMember {
  readonly member: Member;
  readonly store: Store;
  /** A clock that can be stopped and woken, as SIGSTOP and SIGCONT do to a process. */
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
  readonly #leaderships = new Set<Leadership>();
  readonly #members = new Set<Member>();
  readonly #observers = new Set<ElectionObserver>();
  readonly #stores = new Set<Store>();
  readonly #samplingDone: Promise<void>;
  readonly #unsubscribes: (() => void)[] = [];
  #sampling = true;

  /** `calm`: its members live by leases of `calmTtlMs`. */
  constructor(harness: StoreHarness, calm = false) {
    this.harness = harness;
    this.#memberTtlMs = calm ? this.calmTtlMs : this.ttlMs;
    this.#samplingDone = this.#sample();
  }

  get ttlMs(): number {
    return this.harness.ttlMs;
  }

  /** A ttl that no lateness of a busy machine uses up. */
  get calmTtlMs(): number {
    return 2 * (this.ttlMs + this.harness.slackMs);
  }

  /** After this many ms a dead leader has a successor, if the machine is healthy: the lease's end, and some calls. */
  failoverMs(store: Store): number {
    return store.capabilities.expiresWithinMs(this.#memberTtlMs) + 4 * this.harness.timeoutMs + this.harness.slackMs;
  }

  /** Enough for a few calls on a healthy link. */
  get soonMs(): number {
    return 4 * this.harness.timeoutMs + this.harness.slackMs;
  }

  /** Access to the store past every client, for a case that needs an operator. */
  get operator(): Operator {
    assert.ok(this.harness.operator !== undefined, 'a case that uses an operator must declare that need');
    return this.harness.operator;
  }

  async member(memberId: string, options: MemberOptions = {}): Promise<TestMember> {
    return this.memberOn(await this.open(), memberId, options);
  }

  /** A member on a store that the case has made of one of this arena's. */
  memberOn(store: Store, memberId: string, options: MemberOptions = {}): TestMember {
    this.#stores.add(store);
    const clock = new PausableClock(this.harness.clock);
    const member = new WeakStoreMember(store, { memberId, ttlMs: this.#memberTtlMs, clock, ...options });
    this.#members.add(member);
    this.#recordTelemetry(member);
    return { member, store, clock };
  }

  /** Another client, for whoever is no member. */
  async open(): Promise<Store> {
    const store = await this.harness.open();
    this.#stores.add(store);
    return store;
  }

  /** A client whose link can be broken. `fault`: the one that the case is about. */
  async openFaulty(fault?: FaultKind): Promise<FaultyClient> {
    assert.ok(this.harness.faulty !== undefined, 'the case names the faults that it needs');
    const client = await this.harness.faulty(fault);
    this.#stores.add(client.store);
    return client;
  }

  /** A member whose link can be broken. */
  async faultyMember(memberId: string, options: MemberOptions = {}): Promise<FaultyTestMember> {
    const client = await this.openFaulty();
    return { ...this.memberOn(client.store, memberId, options), faults: client.faults, client };
  }

  /** Campaigns, and records what comes of it. May be awaited later. */
  campaign(candidate: TestMember, options?: ElectionOptions<unknown>, signal?: AbortSignal): Promise<Leadership> {
    return begun(this.#campaign(candidate, options, signal));
  }

  async #campaign(candidate: TestMember, options?: ElectionOptions<unknown>, signal?: AbortSignal): Promise<Leadership> {
    const election = candidate.member.election(NAME, options);
    const leadership = await election.campaign(signal === undefined ? {} : { signal });
    this.record(leadership);
    return leadership;
  }

  record(leadership: Leadership, election: string = NAME): void {
    const { term, memberId: member } = leadership;
    this.#leaderships.add(leadership);
    this.events.push({ type: 'elected', at: this.now(), election, member, term });
    leadership.signal.addEventListener('abort', () => {
      this.#leaderships.delete(leadership);
      this.events.push({ type: 'ended', at: this.now(), election, member, term, reason: reasonOf(leadership) });
    });
    // Whoever still believes at this very moment would be the second one.
    this.sample(election);
  }

  /** Asks every leadership that is held whether it is valid, and records who says so. */
  sample(election: string = NAME): void {
    for (const leadership of this.#leaderships) {
      if (!leadership.isValid()) continue;
      this.events.push({ type: 'valid', at: this.now(), election, member: leadership.memberId, term: leadership.term });
    }
  }

  /**
   * The n-th term of this arena: n where the store's terms count from 1; where they begin at a time of the store's clock, as many after the first one that
   * was recorded.
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

  /** A condition that asks a store which does not answer now does not hold yet. */
  async until(condition: () => boolean | Promise<boolean>, what: string, withinMs: number = this.soonMs): Promise<void> {
    const holds = async (): Promise<boolean> => {
      try {
        return await condition();
      } catch (error) {
        if (isRetryable(error)) return false;
        throw error;
      }
    };
    await until(this.harness.clock, holds, { withinMs, what });
  }

  async sleep(ms: number): Promise<void> {
    await sleep(this.harness.clock, ms);
  }

  /**
   * What this member's telemetry tells of these events from now on, in the order in which it happens: their names.
   */
  recordedEvents({ member }: TestMember, ...events: readonly TelemetryEvent[]): readonly string[] {
    const reported: string[] = [];
    for (const event of events) this.#listen(event, member.incarnation, () => reported.push(event));
    return reported;
  }

  /** What its telemetry tells of leaderships belongs to the history. */
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

  /** Waits until this member stands in the queue. */
  async queued(candidate: TestMember, memberId: string = candidate.member.memberId): Promise<void> {
    const election = candidate.member.election(NAME);
    await this.until(async () => (await election.candidates()).some((one) => one.memberId === memberId), `${memberId} is in the queue`);
  }

  async sees(observer: ElectionObserver, accept: (view: ElectionView<unknown>) => boolean, what: string, withinMs?: number): Promise<void> {
    await this.until(() => accept(observer.current), `the observer shows ${what}`, withinMs);
  }

  /** The history checks nothing by itself: every case ends with this. */
  async close(rules: HistoryRules = {}): Promise<void> {
    await Promise.all([...this.#observers].map((observer) => observer.close()));
    await Promise.all([...this.#members].map((member) => member.close()));
    this.#sampling = false;
    await this.#samplingDone;
    for (const stop of this.#unsubscribes) stop();
    assert.deepEqual(checkHistory(this.events, rules), [], 'the history keeps every promise');
    await this.#nothingLeft();
  }

  /** Members leave nothing but the terms that were issued. What a member was cut off from ends with its lease. */
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

/** `a` leads, and `b`, another member by default, waits next in line. */
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

/** The end of a leadership, which must come in time. */
export async function endOf(arena: Arena, leadership: Leadership, withinMs: number): Promise<LeadershipEnd> {
  let end: LeadershipEnd | undefined;
  void leadership.ended.then((ended) => {
    end = ended;
  });
  await arena.until(() => end !== undefined, `leadership of term ${leadership.term} ends`, withinMs);
  assert.ok(end !== undefined);
  return end;
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
