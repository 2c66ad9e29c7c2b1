/** What the review's tests take place on: one memory server, a manual clock, and stores that fail exactly where they are told to. */

import { ManualClock, MemoryServer, type MemoryServerOptions } from '@incumbent/memory';
import { Member, StoreError, type Leadership, type MemberOptions, type Random, type Store } from '../../src/index.ts';

export const NAME = 'controller';
export const LEADER = `elections/${NAME}/leader`;
export const TERM = `elections/${NAME}/term`;
export const QUEUE = `elections/${NAME}/candidates`;
export const TTL_MS = 2_000;

type Calls = Omit<Store, 'close' | typeof Symbol.asyncDispose>;

/** The store behind, but for what `replace` names. */
export function instead(behind: Store, replace: Partial<Calls>): Store {
  const close = (): Promise<void> => behind.close();
  return {
    name: behind.name,
    capabilities: behind.capabilities,
    grantLease: (...a) => behind.grantLease(...a),
    renewLease: (...a) => behind.renewLease(...a),
    revokeLease: (...a) => behind.revokeLease(...a),
    compareAndSwap: (...a) => behind.compareAndSwap(...a),
    enqueue: (...a) => behind.enqueue(...a),
    read: (...a) => behind.read(...a),
    list: (...a) => behind.list(...a),
    watch: (...a) => behind.watch(...a),
    watchList: (...a) => behind.watchList(...a),
    close,
    [Symbol.asyncDispose]: close,
    ...replace,
  };
}

export function timeout(): StoreError {
  return new StoreError('TIMEOUT', 'unknown', 'no answer in time');
}

export function denied(): StoreError {
  return new StoreError('PERMISSION_DENIED', 'refused', 'not allowed');
}

/** Numbers that look random and are the same in every run (mulberry32). */
export function seeded(seed: number): Random {
  let state = seed;
  return {
    u32: () => {
      state = (state + 0x6d2b79f5) | 0;
      let t = Math.imul(state ^ (state >>> 15), 1 | state);
      t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
      return (t ^ (t >>> 14)) >>> 0;
    },
  };
}

export class Scene {
  readonly clock = new ManualClock();
  readonly server: MemoryServer;
  readonly log: { readonly text: string; readonly fields: object }[] = [];
  readonly #members: Member[] = [];
  #seed = 0;

  constructor(options: Omit<MemoryServerOptions, 'clock'> = {}) {
    this.server = new MemoryServer({ ...options, clock: this.clock });
  }

  connect(latencyMs = 1): ReturnType<MemoryServer['connect']> {
    return this.server.connect({ latencyMs });
  }

  member(memberId: string, store: Store = this.connect(), options: MemberOptions = {}): Member {
    this.#seed += 1;
    const note = (fields: object, text: string): void => void this.log.push({ fields, text });
    const logger = { debug: note, info: note, warn: note, error: note };
    const member = new Member(store, { memberId, ttlMs: TTL_MS, clock: this.clock, random: seeded(this.#seed), logger, ...options });
    this.#members.push(member);
    return member;
  }

  /** Campaigns, and waits until elected. */
  async elect(member: Member, options?: Parameters<Member['election']>[1]): Promise<Leadership> {
    return this.run(member.election(NAME, options).campaign());
  }

  async run<T>(promise: Promise<T>, withinMs = 600_000): Promise<T> {
    return this.clock.run(promise, { withinMs });
  }

  async pass(ms = 0): Promise<void> {
    await this.clock.advance(ms);
  }

  /** Lets time pass, 1 ms at a time, until the condition holds. */
  async until(condition: () => boolean, withinMs = 60_000): Promise<void> {
    for (let passed = 0; !condition(); passed += 1) {
      if (passed > withinMs) throw new Error(`not within ${withinMs} ms: ${condition.toString()}`);
      await this.clock.advance(1);
    }
  }

  /** Whether the promise settles as time passes. */
  async settles(promise: Promise<unknown>, withinMs: number): Promise<boolean> {
    let settled = false;
    const done = (): void => {
      settled = true;
    };
    promise.then(done, done);
    await this.clock.advance(withinMs);
    return settled;
  }

  /** Who stands in the queue, by member id. */
  get queue(): readonly string[] {
    return this.server
      .entries()
      .filter(({ key }) => key.startsWith(`${QUEUE}/`))
      .map(({ name }) => name.split('~')[0] ?? '');
  }

  entry(key: string): { readonly lease?: string } | undefined {
    return this.server.entries().find((candidate) => candidate.key === key);
  }

  json(key: string): Record<string, unknown> | undefined {
    const found = this.server.entries().find((candidate) => candidate.key === key);
    return found === undefined ? undefined : JSON.parse(new TextDecoder().decode(found.value));
  }

  async close(): Promise<void> {
    await this.run(Promise.all(this.#members.map((member) => member.close())));
    await this.server.close();
  }
}

/** Keeps a promise's rejection from being unhandled. */
export function quiet<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}
