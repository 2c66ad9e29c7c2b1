/** One memory server on a manual clock, and everybody who takes part in its elections. */

import { ManualClock, MemoryServer, type ConnectOptions, type MemoryServerOptions, type MemoryStore } from '@incumbent/memory';
import { expectNothingLeft } from '@incumbent/test-support/nothing-left';
import { expect } from 'vitest';
import {
  ElectionObserver,
  type Entry,
  type Leadership,
  Member,
  type MemberOptions,
  type ObserverOptions,
  type Store,
} from '../../src/index.ts';
import { Events } from './events.ts';
import { unpaired } from './pairs.ts';
import { seeded } from './random.ts';
import { track } from './track.ts';

/** The election that most tests hold. */
export const NAME = 'controller';
export const LEADER = `elections/${NAME}/leader`;
export const TERM = `elections/${NAME}/term`;
export const CANDIDATES = `elections/${NAME}/candidates`;
export const TTL_MS = 10_000;

export type WorldOptions = Omit<MemoryServerOptions, 'clock'>;

export class World {
  readonly clock = new ManualClock();
  readonly server: MemoryServer;
  readonly events = new Events();
  readonly #closers: (() => Promise<void>)[] = [];
  #seed = 0;

  constructor(options: WorldOptions = {}) {
    this.server = new MemoryServer({ ...options, clock: this.clock });
  }

  connect(options: ConnectOptions = {}): MemoryStore {
    return this.server.connect(options);
  }

  /** A member on a link of its own, unless a store is given. */
  member(memberId: string, options: MemberOptions = {}, store: Store = this.connect()): Member {
    this.#seed += 1;
    const member = new Member(store, {
      memberId,
      ttlMs: TTL_MS,
      clock: this.clock,
      random: seeded(this.#seed),
      logger: this.events,
      ...options,
    });
    this.#closers.push(() => member.close());
    return member;
  }

  observer(options: ObserverOptions = {}, store: Store = this.connect(), name: string = NAME): ElectionObserver {
    const observer = new ElectionObserver(store, name, { clock: this.clock, random: seeded(99), logger: this.events, ...options });
    this.#closers.push(() => observer.close());
    return observer;
  }

  /** Campaigns for the election `NAME`, until the member is elected. */
  async elect(member: Member): Promise<Leadership> {
    return this.run(member.election(NAME).campaign());
  }

  /** Lets time pass until the promise settles. */
  async run<T>(promise: Promise<T>, withinMs = 600_000): Promise<T> {
    return this.clock.run(promise, { withinMs });
  }

  /** Lets promises settle, and `ms` pass. */
  async pass(ms = 0): Promise<void> {
    await this.clock.advance(ms);
  }

  /** Lets time pass, by `stepMs`, until the condition holds. Fails after `withinMs`. */
  async until(condition: () => boolean, what = String(condition), withinMs = 60_000, stepMs = 1): Promise<void> {
    const endsAt = this.clock.monotonic() + withinMs;
    await this.pass();
    while (!condition()) {
      if (this.clock.monotonic() >= endsAt) throw new Error(`not within ${withinMs} ms: ${what}`);
      await this.pass(stepMs);
    }
  }

  /** Lets `withinMs` pass. True if the promise has settled by then. */
  async settles(promise: Promise<unknown>, withinMs: number): Promise<boolean> {
    const tracked = track(promise);
    await this.pass(withinMs);
    return tracked.state !== 'pending';
  }

  /** How long, in ms, it takes a promise to settle. */
  async timed(promise: Promise<unknown>): Promise<number> {
    const from = this.clock.monotonic();
    await this.run(promise.catch(() => {}));
    return this.clock.monotonic() - from;
  }

  /** The member ids of those in the queue, in the order of joining. */
  queue(name: string = NAME): readonly string[] {
    const prefix = `elections/${name}/candidates/`;
    return this.server.entries().flatMap((entry) => (entry.key.startsWith(prefix) ? [entry.name.slice(0, entry.name.indexOf('~'))] : []));
  }

  /** The entry of a key. */
  entry(key: string): Entry | undefined {
    return this.server.entries().find((candidate) => candidate.key === key);
  }

  /** The value of a key, as JSON. */
  json(key: string): Readonly<Record<string, unknown>> | undefined {
    const entry = this.entry(key);
    return entry === undefined ? undefined : JSON.parse(new TextDecoder().decode(entry.value));
  }

  put(key: string, value: unknown): void {
    this.server.put(key, typeof value === 'string' ? new TextEncoder().encode(value) : new TextEncoder().encode(JSON.stringify(value)));
  }

  /** The lease of a member. */
  leaseOf(memberId: string): string {
    const lease = this.entry(`members/${memberId}`)?.lease;
    expect(lease, `${memberId} has a lease`).toBeDefined();
    return lease ?? '';
  }

  /** Closes all members and observers. Checks that each `elected` was followed by an `ended`. */
  async close(): Promise<void> {
    await this.run(Promise.all(this.#closers.map((close) => close())));
    expect(unpaired(this.events.all), 'elected and ended, in pairs').toEqual([]);
  }

  /** Checks that no timer, watch, lease or key is left, except the keys of the terms. */
  expectNothingLeft(): void {
    expectNothingLeft(this);
  }
}
