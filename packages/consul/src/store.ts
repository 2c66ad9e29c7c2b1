/** The store contract on Consul. */

import type * as api from '@incumbent/core';
import { checkCall, checkChanges, checkListing, checkPart, checkPath, checkTime, invalidOption, keepAlive } from '@incumbent/core/adapter';
import { CallTime, checkSwapSize, checkValueSize, type MissingPermission, revocationOf, storeClosed, withGrant } from '@incumbent/network';

import { capabilitiesOf } from './capabilities.ts';
import type { Client } from './client/client.ts';
import { ExchangeError } from './client/failure.ts';
import { missingForAgent, missingForSessions, missingOnKeys, toStoreError } from './errors.ts';
import { Leases } from './leases.ts';
import { Namespace } from './namespace.ts';
import type { ConsulSettings } from './options.ts';
import { agentVersion } from './protocol/agent.ts';
import { MAX_TTL_MS } from './protocol/session.ts';
import { enqueue } from './queue.ts';
import { listEntries, readEntry } from './reads.ts';
import { compareAndSwap } from './transactions.ts';
import { WatchHub } from './watch-hub.ts';
import { watchTarget } from './watch.ts';

/** A call of a method of the store. */
interface StoreCall {
  /** The name of the method, for messages. */
  readonly method: string;
  /** What the user lacks if Consul denies the call. */
  readonly missing: () => MissingPermission;
  readonly options: api.CallOptions;
}

export class ConsulStore implements api.Store {
  readonly name = 'consul';
  readonly namespace: string;
  readonly capabilities: api.StoreCapabilities;
  readonly revocation: api.Revocation | undefined;
  readonly #client: Client;
  readonly #clock: api.Clock;
  readonly #namespace: Namespace;
  readonly #leases: Leases;
  readonly #hub: WatchHub;
  #closing: Promise<void> | undefined;

  constructor(client: Client, settings: ConsulSettings, bound: 'check' | 'ttl') {
    const { clock, lockDelayMs, minSessionTtlMs, watchWaitMs: waitMs, maxBlockingQueries: maxQueries, access } = settings;
    this.#client = client;
    this.#clock = clock;
    this.#namespace = new Namespace(settings.namespace);
    this.namespace = settings.namespace;
    this.#leases = new Leases(client, { clock, name: `incumbent ${settings.namespace}`, lockDelayMs, bound, minSessionTtlMs });
    this.#hub = new WatchHub({ client, clock, namespace: this.#namespace, waitMs, maxQueries });
    this.capabilities = capabilitiesOf(bound, minSessionTtlMs);
    const ticketOf = this.#leases.ticketOf.bind(this.#leases);
    this.revocation = revocationOf(import.meta.url, access, ticketOf);
  }

  grantLease(ttlMs: number, options: api.LeaseOptions): Promise<api.Lease> {
    return this.#call({ method: 'grantLease', missing: () => missingForSessions, options }, (time) => {
      checkTime('ttlMs', ttlMs);
      if (ttlMs > MAX_TTL_MS) throw invalidOption('ttlMs', ttlMs, `at most ${MAX_TTL_MS}`);
      return this.#leases.grant(ttlMs, options, time);
    });
  }

  renewLease(lease: api.LeaseId, options: api.LeaseOptions): Promise<api.Renewal> {
    return this.#call({ method: 'renewLease', missing: () => missingForSessions, options }, (time) =>
      this.#leases.renew(lease, options, time),
    );
  }

  revokeLease(lease: api.LeaseId, options: api.CallOptions = {}): Promise<void> {
    return this.#call({ method: 'revokeLease', missing: () => missingForSessions, options }, (time) => this.#leases.revoke(lease, time));
  }

  compareAndSwap(changes: readonly api.Change[], options: api.CallOptions = {}): Promise<api.SwapResult> {
    const missing = (): MissingPermission =>
      this.#missing(
        'key:write',
        changes.map(({ key }) => key),
      );
    return this.#call({ method: 'compareAndSwap', missing, options }, (time) => {
      checkChanges(changes);
      checkSwapSize(this, changes);
      return compareAndSwap(this.#client, this.#namespace, changes, time);
    });
  }

  enqueue(prefix: api.Key, name: string, value: Uint8Array, lease: api.LeaseId, options: api.CallOptions = {}): Promise<api.Entry> {
    return this.#call({ method: 'enqueue', missing: () => this.#missing('key:write', [`${prefix}/${name}`]), options }, (time) => {
      const key = `${checkPath('prefix', prefix)}/${checkPart('name', name)}`;
      checkValueSize(this, value, key);
      // Copied, because the caller may change its bytes.
      return enqueue(this.#client, this.#namespace, { key, value: new Uint8Array(value), lease }, time);
    });
  }

  read(key: api.Key, options: api.CallOptions = {}): Promise<api.Entry | undefined> {
    return this.#call({ method: 'read', missing: () => this.#missing('key:read', [key]), options }, (time) =>
      readEntry(this.#client, this.#namespace, checkPath('key', key), time),
    );
  }

  list(prefix: api.Key, options: api.ListOptions = {}): Promise<readonly api.Entry[]> {
    return this.#call({ method: 'list', missing: () => this.#missing('key:read', [`${prefix}/`]), options }, (time) => {
      checkListing(options);
      return listEntries(this.#client, this.#namespace, checkPath('prefix', prefix), options, time);
    });
  }

  watch(key: api.Key, options: api.WatchOptions = {}): AsyncIterable<api.Entry | undefined> {
    const target = this.#namespace.key(checkPath('key', key));
    const entryOf = this.#namespace.entry.bind(this.#namespace);
    return watchTarget(
      this.#hub,
      { target, missing: () => this.#missing('key:read', [key]), state: ([pair]) => (pair === undefined ? undefined : entryOf(pair)) },
      options,
    );
  }

  watchList(prefix: api.Key, options: api.WatchOptions = {}): AsyncIterable<readonly api.Entry[]> {
    const target = this.#namespace.under(checkPath('prefix', prefix));
    return watchTarget(
      this.#hub,
      { target, missing: () => this.#missing('key:read', [`${prefix}/`]), state: (pairs) => this.#namespace.entries(pairs) },
      options,
    );
  }

  /**
   * The version of the agent, which the token must be allowed to read. Consul does not report a
   * clock.
   */
  inspect(options: api.CallOptions = {}): Promise<api.StoreReport> {
    return this.#call({ method: 'inspect', missing: () => missingForAgent, options }, async (time) => ({
      version: await agentVersion(this.#client, time.left),
      warnings: [],
    }));
  }

  /** Waits at most half a second for the agent to remove the checks of ended leases. */
  close(): Promise<void> {
    // Without a call under way, nothing else keeps the process alive until the close is complete.
    this.#closing ??= keepAlive(this.#clock, () => this.#close());
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    this.#hub.close();
    await this.#leases.close();
    await this.#client.close();
  }

  /** Runs a task with the time limit of its call. Every error of Consul becomes a `StoreError`. */
  async #call<T>({ method, missing, options }: StoreCall, task: (time: CallTime) => Promise<T>): Promise<T> {
    const call = checkCall(options);
    options.signal?.throwIfAborted();
    if (this.#closing !== undefined) throw storeClosed('consul');
    try {
      return await task(new CallTime(this.#clock, call, ExchangeError));
    } catch (error) {
      if (options.signal?.aborted === true && error === options.signal.reason) throw error;
      if (error instanceof TypeError || error instanceof RangeError) throw error;
      const failure = toStoreError(error, method);
      // Consul refused to bind a key to this session, so the session is certainly gone.
      const { lease } = failure.details;
      if (lease !== undefined) this.#leases.forget(lease);
      throw withGrant(failure, missing);
    }
  }

  #missing(right: 'key:read' | 'key:write', keys: readonly api.Key[]): MissingPermission {
    return missingOnKeys(
      right,
      keys.map((key) => this.#namespace.path(key)),
      this.#namespace,
    );
  }
}
