/** The contract, on a file. */

import type {
  CallOptions,
  Cancel,
  Change,
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
  checkChanges,
  checkListing,
  checkPart,
  checkPath,
  checkTime,
  moduleBeside,
  watchStates,
  withoutValue,
} from '@incumbent/core/adapter';

import type { Attempts } from './client/calls.ts';
import { Census } from './holder-monitor.ts';
import { Namespace, revisionOf } from './namespace.ts';
import type { Database } from './client/database.ts';
import { storeClosed } from './errors.ts';
import { exposureOf } from './host/file-permissions.ts';
import { LogHints } from './host/log-watcher.ts';
import type { Host } from './host/host.ts';
import { deadLeases, grantLease, MAX_TTL_MS, MIN_TTL_MS, newLeaseId, renewLease, revokeLease } from './leases.ts';
import { ownLife, type Life } from './host/process-identity.ts';
import type { SqliteSettings } from './options.ts';
import { Pulse } from './change-poller.ts';
import { writeAccess } from './revoker.ts';
import { enqueue, MAX_CHANGES, MAX_VALUE_BYTES, swap } from './transactions.ts';
import { NEWEST } from './schema/tables.ts';
import type { Reader } from './watch-state.ts';
import { Views } from './watch-hub.ts';

/** All keys of a lease are deleted in one transaction. */
const MAX_KEYS_PER_LEASE = 10_000;
/** How late the end of a lease may be noticed on a busy machine, by a process that waits for it; and the death of a process, be it a zombie. */
const NOTICED_WITHIN_MS = 250;
const DEATH_NOTICED_WITHIN_MS = 1_250;

export class SqliteStore implements Store {
  readonly name = 'sqlite';
  readonly capabilities: StoreCapabilities;
  readonly revocation: Revocation;
  /** As it was named: it may be a link. */
  readonly #file: string;
  readonly #database: Database;
  readonly #attempts: Attempts;
  readonly #namespace: Namespace;
  readonly #life: Life | undefined;
  /** Leases that this store was granted. */
  readonly #own = new Set<LeaseId>();
  readonly #views: Views;
  readonly #pulse: Pulse;
  #isClosed = false;

  constructor(database: Database, attempts: Attempts, host: Host, { file, namespace, endsWithProcess }: SqliteSettings) {
    this.#file = file;
    this.revocation = { module: moduleBeside(import.meta.url, 'revoker'), access: writeAccess(database.path), ticketOf: (lease) => lease };
    this.#database = database;
    this.#attempts = attempts;
    this.#namespace = new Namespace(namespace);
    const life = ownLife();
    this.#life = endsWithProcess ? life : undefined;
    this.capabilities = capabilitiesOn(host, this.#life);
    const hints = new LogHints(database.path);
    const census = new Census(life);
    this.#views = new Views(census);
    this.#pulse = new Pulse({ database, host, views: this.#views, own: this.#own, census, hints });
  }

  async grantLease(ttlMs: number, options: LeaseOptions): Promise<Lease> {
    checkTime('ttlMs', ttlMs);
    const id = newLeaseId();
    const dead = await this.#attempts.run(() => deadLeases(this.#database), options);
    const granted = await this.#writing(() => grantLease(this.#database, { id, ttlMs, life: this.#life, dead }), options);
    this.#own.add(id);
    return { id, ttlMs: granted, validFrom: options.at };
  }

  async renewLease(lease: LeaseId, options: LeaseOptions): Promise<Renewal> {
    const ttlMs = await this.#attempts.run(() => renewLease(this.#database, lease), { ...options, urgent: true });
    return { ttlMs, validFrom: options.at };
  }

  async revokeLease(lease: LeaseId, options: CallOptions): Promise<void> {
    await this.#writing(() => revokeLease(this.#database, lease), options);
    this.#own.delete(lease);
  }

  async compareAndSwap(changes: readonly Change[], options: CallOptions): Promise<SwapResult> {
    checkChanges(changes);
    const inside = changes.map((change) => this.#inside(change));
    const result = await this.#writing(() => swap(this.#database, inside), options);
    if (result.swapped) return { swapped: true, revisions: result.revisions.map((one) => (one === undefined ? one : revisionOf(one))) };
    const failed = result.failed.map(({ index, current }) => ({ index, current: current && this.#namespace.entry(current) }));
    return { swapped: false, failed };
  }

  async enqueue(prefix: Key, name: string, value: Uint8Array, lease: LeaseId, options: CallOptions): Promise<Entry> {
    const key = this.#namespace.key(`${checkPath('prefix', prefix)}/${checkPart('name', name)}`);
    const entry = { key, value: new Uint8Array(value), lease };
    return this.#namespace.entry(await this.#writing(() => enqueue(this.#database, entry), options));
  }

  async read(key: Key, options: CallOptions): Promise<Entry | undefined> {
    const inside = this.#namespace.key(checkPath('key', key));
    const row = await this.#attempts.run(() => this.#database.look((tables) => tables.read(inside)), options);
    return row && this.#namespace.entry(row);
  }

  async list(prefix: Key, options: ListOptions): Promise<readonly Entry[]> {
    checkListing(options);
    const { values = true, before, first, last } = options;
    const inside = this.#namespace.key(checkPath('prefix', prefix));
    const listing = { values, before: before === undefined ? NEWEST : Number(before.order), first, last };
    const rows = await this.#attempts.run(() => this.#database.look((tables) => tables.list(inside, listing)), options);
    const entries = rows.map((row) => this.#namespace.entry(row));
    return values ? entries : entries.map(withoutValue);
  }

  watch(key: Key, options: WatchOptions): AsyncIterable<Entry | undefined> {
    const inside = this.#namespace.key(checkPath('key', key));
    const begin = (reader: Reader): Cancel => this.#watching(() => this.#views.watchKey(inside, reader));
    return watchStates(begin, ([row]) => row && this.#namespace.entry(row), options);
  }

  watchList(prefix: Key, options: WatchOptions): AsyncIterable<readonly Entry[]> {
    const inside = this.#namespace.key(checkPath('prefix', prefix));
    const begin = (reader: Reader): Cancel => this.#watching(() => this.#views.watchList(inside, reader));
    return watchStates(begin, (rows) => rows.map((row) => this.#namespace.entry(row)), options);
  }

  /** There is no server, and no clock but the machine's. */
  async inspect(): Promise<StoreReport> {
    const version = process.versions['sqlite'];
    return { ...(version === undefined ? {} : { version }), warnings: exposureOf(this.#database.path, this.#file) };
  }

  /** Takes no time, but where this is the last process on the file: SQLite then moves what is in the log to the file, and removes the log. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#attempts.close();
    this.#pulse.stop();
    this.#views.fail(storeClosed());
    this.#database.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #watching(begin: () => Cancel): Cancel {
    if (this.#isClosed) throw storeClosed();
    const cancel = begin();
    this.#pulse.stir();
    return cancel;
  }

  async #writing<T>(step: () => T, options: CallOptions): Promise<T> {
    try {
      return await this.#attempts.run(step, options);
    } finally {
      // Also after a failure: it may have happened.
      this.#pulse.stir();
    }
  }

  #inside(change: Change): Change {
    const key = this.#namespace.key(change.key);
    return 'put' in change ? { ...change, key, put: new Uint8Array(change.put) } : { ...change, key };
  }
}

function capabilitiesOn({ space }: Host, life: Life | undefined): StoreCapabilities {
  return {
    // A transaction sees all that were committed before it began, in whichever process.
    linearizable: true,
    termSource: 'counter',
    minTtlMs: MIN_TTL_MS,
    maxTtlMs: MAX_TTL_MS,
    expiresWithinMs: (ttlMs) => ttlMs + NOTICED_WITHIN_MS,
    ...(space === undefined || life === undefined ? {} : { expiresOnExitWithinMs: DEATH_NOTICED_WITHIN_MS }),
    assignableLease: true,
    watchTellsValues: true,
    revisionsSurviveDeletion: true,
    maxChanges: MAX_CHANGES,
    maxValueBytes: MAX_VALUE_BYTES,
    maxKeysPerLease: MAX_KEYS_PER_LEASE,
  };
}
