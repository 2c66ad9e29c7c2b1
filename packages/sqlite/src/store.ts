/** The store contract on a file. */

import type * as api from '@incumbent/core';

import { capabilitiesOn } from './capabilities.ts';
import { ChangePoller } from './change-poller.ts';
import type { Calls } from './client/calls.ts';
import type { Database } from './client/database.ts';
import { HolderMonitor } from './holder-monitor.ts';
import { statsOf } from './host/database-path.ts';
import { exposureOf } from './host/file-permissions.ts';
import type { Host } from './host/host.ts';
import { LogWatcher } from './host/log-watcher.ts';
import { ownIdentity, type ProcessIdentity } from './host/process-identity.ts';
import { grantLease, renewLease, revokeLease } from './leases.ts';
import { Namespace } from './namespace.ts';
import type { SqliteSettings } from './options.ts';
import { enqueue } from './queue.ts';
import { list, read } from './reads.ts';
import { fileRevocation } from './revoker.ts';
import { compareAndSwap } from './transactions.ts';
import { WatchHub } from './watch-hub.ts';
import { Watches } from './watch.ts';

const MIB = 1_048_576n;
/** SQLite starts the log again after 1,000 pages, which are 4 MiB. */
const LARGE_LOG_BYTES = 64n * MIB;

export class SqliteStore implements api.Store {
  readonly name = 'sqlite';
  readonly namespace: string;
  readonly capabilities: api.StoreCapabilities;
  readonly revocation: api.Revocation | undefined;
  /** The path that the caller gave, which may be a symbolic link. */
  readonly #file: string;
  readonly #database: Database;
  readonly #calls: Calls;
  readonly #namespace: Namespace;
  /** The process whose death ends the leases of this store. Undefined: only the ttl does. */
  readonly #holder: ProcessIdentity | undefined;
  readonly #ownLeases = new Set<api.LeaseId>();
  readonly #watches: Watches;
  #isClosed = false;

  constructor(database: Database, calls: Calls, host: Host, { file, namespace, endsWithProcess }: SqliteSettings) {
    const own = ownIdentity();
    const monitor = new HolderMonitor(own);
    const hub = new WatchHub(monitor);
    const reports = new LogWatcher(database.path);
    const poller = new ChangePoller({ database, host, hub, ownLeases: this.#ownLeases, monitor, reports });
    calls.onWrite(() => {
      reports.send();
      poller.pollNow();
    });
    this.#file = file;
    this.#database = database;
    this.#calls = calls;
    this.#namespace = new Namespace(namespace);
    this.namespace = namespace;
    this.#holder = endsWithProcess ? own : undefined;
    this.#watches = new Watches(hub, poller, this.#namespace);
    this.capabilities = capabilitiesOn(host, this.#holder);
    this.revocation = fileRevocation(import.meta.url, database.path);
  }

  async grantLease(ttlMs: number, options: api.LeaseOptions): Promise<api.Lease> {
    const lease = await grantLease(this.#calls, this.#holder, ttlMs, options);
    this.#ownLeases.add(lease.id);
    return lease;
  }

  async renewLease(lease: api.LeaseId, options: api.LeaseOptions): Promise<api.Renewal> {
    return renewLease(this.#calls, lease, options);
  }

  async revokeLease(lease: api.LeaseId, options: api.CallOptions = {}): Promise<void> {
    await this.#calls.write((database) => revokeLease(database, lease), options);
    this.#ownLeases.delete(lease);
  }

  async compareAndSwap(changes: readonly api.Change[], options: api.CallOptions = {}): Promise<api.SwapResult> {
    return compareAndSwap(this.#calls, this.#namespace, changes, options);
  }

  async enqueue(prefix: api.Key, name: string, value: Uint8Array, lease: api.LeaseId, options: api.CallOptions = {}): Promise<api.Entry> {
    return enqueue(this.#calls, this.#namespace, { prefix, name, value, lease }, options);
  }

  async read(key: api.Key, options: api.CallOptions = {}): Promise<api.Entry | undefined> {
    return read(this.#calls, this.#namespace, key, options);
  }

  async list(prefix: api.Key, options: api.ListOptions = {}): Promise<readonly api.Entry[]> {
    return list(this.#calls, this.#namespace, prefix, options);
  }

  watch(key: api.Key, options: api.WatchOptions = {}): AsyncIterable<api.Entry | undefined> {
    return this.#watches.key(key, options);
  }

  watchList(prefix: api.Key, options: api.WatchOptions = {}): AsyncIterable<readonly api.Entry[]> {
    return this.#watches.list(prefix, options);
  }

  /** Reports SQLite's version, which other users can use or replace the file, and a large log. */
  async inspect(): Promise<api.StoreReport> {
    const version = process.versions['sqlite'];
    const { path } = this.#database;
    return { ...(version === undefined ? {} : { version }), warnings: [...exposureOf(path, this.#file), ...logWarnings(path)] };
  }

  /** Takes no time, unless this is the last process on the file: then SQLite merges the log. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#calls.close();
    this.#watches.close();
    this.#database.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

function logWarnings(path: string): readonly string[] {
  const { size = 0n } = statsOf(`${path}-wal`) ?? {};
  if (size <= LARGE_LOG_BYTES) return [];
  return [
    `${path}-wal, the log, has ${size / MIB} MiB and does not start again: another program keeps a transaction open on the file, ` +
      'such as a sqlite3 shell, or a process is stopped while it uses the file. End that transaction or that process',
  ];
}
