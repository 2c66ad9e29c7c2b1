/** The contract, on Redis. */

import { randomBytes } from 'node:crypto';

import type {
  CallOptions,
  Change,
  Clock,
  Entry,
  Key,
  Lease,
  LeaseId,
  LeaseOptions,
  ListOptions,
  Renewal,
  Revocation,
  Store,
  StoreCapabilities,
  StoreReport,
  SwapResult,
  WatchOptions,
} from '@incumbent/core';
import {
  checkCall,
  checkChanges,
  checkListing,
  checkPart,
  checkPath,
  invalidOption,
  StoreError,
  withoutValue,
} from '@incumbent/core/adapter';
import { revocationOf } from '@incumbent/network';

import { closedMeanwhile, leaseGone, storeClosed, toStoreError } from './errors.ts';
import { Feed, type FeedNames } from './watch-hub/watch-hub.ts';
import { inspect } from './client/inspect.ts';
import { Looks } from './reads.ts';
import { KeyMirror, ListMirror } from './watch-state.ts';
import { numberOf } from './namespace.ts';
import { grant, renew, revoke } from './scripts/leases.ts';
import { run, type Script } from './scripts/script.ts';
import { enqueue, swap } from './scripts/writes.ts';
import { checkedValue, enqueued, MAX_CHANGES, MAX_VALUE_BYTES, swapArgs, swapResult } from './transactions.ts';
import { watchMirror } from './watch.ts';
import type { Client } from './client/client.ts';
import { ExchangeError } from './client/failure.ts';
import type { Reply } from './protocol/resp.ts';

export interface StoreParts extends FeedNames {
  readonly clock: Clock;
  /** For another process to open the store by; undefined where it cannot. */
  readonly access: string | undefined;
}

const MIN_TTL_MS = 100;
/** 24 days: what timers of Node can wait for. */
const MAX_TTL_MS: number = 2 ** 31 - 1;

/** To all who read it a key is gone when its lease's time is over; those who watch it ask a moment later. */
const EXPIRY_SLACK_MS = 50;

/**
 * A call that times out leaves its connection at once. The next call opens another to the primary,
 * greets it and runs one script, in memory: a few round trips.
 */
const RECONNECTS_WITHIN_MS = 10;

/** One script removes all keys of a lease, at 20 µs each, and other requests wait for it. 1,000 elections of one member have 2,001. */
const MAX_KEYS_PER_LEASE = 2_500;

const CAPABILITIES: StoreCapabilities = {
  linearizable: false,
  termSource: 'clock',
  minTtlMs: MIN_TTL_MS,
  maxTtlMs: MAX_TTL_MS,
  expiresWithinMs: (ttlMs) => Math.ceil(Math.max(ttlMs, MIN_TTL_MS)) + EXPIRY_SLACK_MS,
  reconnectsWithinMs: RECONNECTS_WITHIN_MS,
  assignableLease: true,
  watchTellsValues: true,
  // Stamps, of which no two are the same.
  revisionsSurviveDeletion: true,
  endsEarly: 'a server counts leases by its wall clock, and after a restart or a failover may have lost what it had acknowledged',
  maxChanges: MAX_CHANGES,
  maxValueBytes: MAX_VALUE_BYTES,
  maxKeysPerLease: MAX_KEYS_PER_LEASE,
};

export class RedisStore implements Store {
  readonly name = 'redis';
  readonly capabilities: StoreCapabilities = CAPABILITIES;
  readonly revocation: Revocation | undefined;
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #names: FeedNames;
  readonly #looks: Looks;
  readonly #feed: Feed;

  /** `listen` is given what the server's unasked words are for. */
  constructor(client: Client, { clock, access, ...names }: StoreParts, listen: (hear: (reply: Reply) => void) => void) {
    this.#client = client;
    this.#clock = clock;
    this.#names = names;
    this.#looks = new Looks(client, clock, names);
    this.#feed = new Feed(client, clock, names);
    this.revocation = revocationOf(import.meta.url, access, (lease) => lease);
    listen((reply) => this.#feed.hear(reply));
  }

  async grantLease(ttlMs: number, options: LeaseOptions): Promise<Lease> {
    this.#check(options);
    if (!(ttlMs > 0 && ttlMs <= MAX_TTL_MS)) throw invalidOption('ttlMs', ttlMs, `above 0, and at most ${MAX_TTL_MS}`);
    const granted = Math.ceil(Math.max(ttlMs, MIN_TTL_MS));
    const id = randomBytes(12).toString('hex');
    await this.#run('grantLease', grant, [id, String(granted)], options);
    return { id, ttlMs: granted, validFrom: options.at };
  }

  async renewLease(lease: LeaseId, options: LeaseOptions): Promise<Renewal> {
    this.#check(options);
    const answer = await this.#run('renewLease', renew, [lease], options);
    const ttlMs = this.#read('renewLease', () => numberOf(answer));
    if (ttlMs === 0) throw leaseGone(lease);
    this.#feed.expiries.extend(lease, ttlMs);
    return { ttlMs, validFrom: options.at };
  }

  async revokeLease(lease: LeaseId, options: CallOptions): Promise<void> {
    this.#check(options);
    await this.#run('revokeLease', revoke, [lease], options);
  }

  async compareAndSwap(changes: readonly Change[], options: CallOptions): Promise<SwapResult> {
    this.#check(options);
    checkChanges(changes);
    const count = changes.length;
    const answer = await this.#run('compareAndSwap', swap, swapArgs(changes), options);
    return this.#read('compareAndSwap', () => swapResult(answer, count));
  }

  async enqueue(prefix: Key, name: string, value: Uint8Array, lease: LeaseId, options: CallOptions): Promise<Entry> {
    this.#check(options);
    const key = `${checkPath('prefix', prefix)}/${checkPart('name', name)}`;
    const answer = await this.#run('enqueue', enqueue, [key, checkedValue(value), lease], options);
    return this.#read('enqueue', () => enqueued(answer, key, lease));
  }

  async read(key: Key, options: CallOptions): Promise<Entry | undefined> {
    this.#check(options);
    const look = { key: checkPath('key', key) };
    const [row] = await this.#call('read', () => this.#looks.ask(look, options), options);
    return row?.entry;
  }

  async list(prefix: Key, options: ListOptions): Promise<readonly Entry[]> {
    this.#check(options);
    checkListing(options);
    const { values = true, before, first, last } = options;
    const look = { prefix: checkPath('prefix', prefix), before, first, last, values };
    const rows = await this.#call('list', () => this.#looks.ask(look, options), options);
    return rows.map(({ entry }) => (values ? entry : withoutValue(entry)));
  }

  watch(key: Key, options: WatchOptions): AsyncIterable<Entry | undefined> {
    checkPath('key', key);
    return watchMirror(this.#feed, () => new KeyMirror(key), options);
  }

  watchList(prefix: Key, options: WatchOptions): AsyncIterable<readonly Entry[]> {
    checkPath('prefix', prefix);
    return watchMirror(this.#feed, () => new ListMirror(prefix), options);
  }

  async inspect(options: CallOptions): Promise<StoreReport> {
    this.#check(options);
    return this.#call('inspect', () => this.#client.call((connection) => inspect(connection, () => this.#clock.wall()), options), options);
  }

  /** Waits for nothing: the sockets of this process end at once. */
  async close(): Promise<void> {
    this.#feed.close();
    this.#client.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #check(options: CallOptions): void {
    checkCall(options);
    options.signal?.throwIfAborted();
    if (this.#client.closed) throw storeClosed();
  }

  #run(what: string, script: Script, args: readonly (string | Uint8Array)[], options: CallOptions): Promise<Reply> {
    const { tag, channel } = this.#names;
    return this.#call(
      what,
      () => this.#client.call((connection, over) => run(connection, script, tag, [channel, ...args], over), options),
      options,
    );
  }

  async #call<T>(what: string, call: () => Promise<T>, { signal }: CallOptions): Promise<T> {
    try {
      return await call();
    } catch (error) {
      if (signal?.aborted === true && error === signal.reason) throw error;
      throw this.#client.closed ? closedMeanwhile(error, what) : toStoreError(error, what);
    }
  }

  /** What a script answers is an answer all the same where nobody understands it: something may have happened. */
  #read<T>(what: string, read: () => T): T {
    try {
      return read();
    } catch (error) {
      if (error instanceof StoreError || !(error instanceof ExchangeError)) throw error;
      throw toStoreError(error, what);
    }
  }
}
