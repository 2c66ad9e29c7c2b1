/** The store contract on Consul. */

import type * as api from '@incumbent/core';
import { checkChanges, checkListing, checkEntryKey, checkPath, checkTtl, keepAlive } from '@incumbent/core/adapter';
import { type CallTime, checkSwapSize, checkValueSize, type MissingPermission, revocationOf } from '@incumbent/network';

import { capabilitiesOf } from './capabilities.ts';
import type { Client } from './client/client.ts';
import { StoreCalls } from './client/store-calls.ts';
import { missingForAgent, missingForSessions, missingOnKeys } from './errors.ts';
import { inspect } from './inspection.ts';
import { type Binding, Leases } from './leases.ts';
import { Namespace } from './namespace.ts';
import type { ConsulSettings } from './options.ts';
import { agentVersion } from './protocol/agent.ts';
import { MAX_TTL_MS } from './protocol/session.ts';
import { enqueue } from './queue.ts';
import { listEntries, readEntry } from './reads.ts';
import { compareAndSwap } from './transactions.ts';
import { WatchHub } from './watch-hub.ts';
import { watchTarget } from './watch.ts';

export class ConsulStore implements api.Store {
  readonly name = 'consul';
  readonly namespace: string;
  readonly capabilities: api.StoreCapabilities;
  readonly revocation: api.Revocation | undefined;
  readonly #client: Client;
  readonly #clock: api.Clock;
  readonly #namespace: Namespace;
  readonly #calls: StoreCalls;
  readonly #leases: Leases;
  readonly #hub: WatchHub;
  readonly #binding: Binding;
  #closing: Promise<void> | undefined;

  constructor(client: Client, settings: ConsulSettings, binding: Binding) {
    const { clock, lockDelayMs, minSessionTtlMs, watchWaitMs: waitMs, maxBlockingQueries: maxQueries, access } = settings;
    const { bound } = binding;
    this.#client = client;
    this.#binding = binding;
    this.#clock = clock;
    this.#namespace = new Namespace(settings.namespace);
    this.namespace = settings.namespace;
    this.#calls = new StoreCalls({
      clock,
      isClosed: () => this.#closing !== undefined,
      onLeaseGone: (lease) => this.#leases.forget(lease),
    });
    const name = `incumbent ${settings.namespace}`;
    const scope = { datacenter: settings.scope['dc'], namespace: settings.scope['ns'] };
    this.#leases = new Leases(client, { clock, name, lockDelayMs, bound, minSessionTtlMs, ...scope });
    this.#hub = new WatchHub({ client, clock, namespace: this.#namespace, waitMs, maxQueries });
    this.capabilities = capabilitiesOf(bound, minSessionTtlMs);
    const ticketOf = this.#leases.ticketOf.bind(this.#leases);
    this.revocation = revocationOf(import.meta.url, access, { ticketOf });
  }

  async grantLease(ttlMs: number, options: api.LeaseOptions): Promise<api.Lease> {
    const call = this.#calls.check(options);
    checkTtl(ttlMs, MAX_TTL_MS);
    return this.#callOnLease('grantLease', (time) => this.#leases.grant(ttlMs, options, time), call);
  }

  async renewLease(lease: api.LeaseId, options: api.LeaseOptions): Promise<api.Renewal> {
    const call = this.#calls.check(options);
    return this.#callOnLease('renewLease', (time) => this.#leases.renew(lease, options, time), call);
  }

  async revokeLease(lease: api.LeaseId, options: api.CallOptions = {}): Promise<void> {
    const call = this.#calls.check(options);
    return this.#callOnLease('revokeLease', (time) => this.#leases.revoke(lease, time), call);
  }

  async compareAndSwap(changes: readonly api.Change[], options: api.CallOptions = {}): Promise<api.SwapResult> {
    const call = this.#calls.check(options);
    checkChanges(changes);
    checkSwapSize(this, changes);
    const keys = changes.map(({ key }) => key);
    const missing = (): MissingPermission => this.#missing('key:write', keys);
    const swap = (time: CallTime): Promise<api.SwapResult> => compareAndSwap(this.#client, this.#namespace, changes, time);
    return this.#calls.run({ method: 'compareAndSwap', missing }, swap, call);
  }

  async enqueue(prefix: api.Key, name: string, value: Uint8Array, lease: api.LeaseId, options: api.CallOptions = {}): Promise<api.Entry> {
    const call = this.#calls.check(options);
    const key = checkEntryKey(prefix, name);
    checkValueSize(this, value, key);
    // Copied, because the caller may change its bytes.
    const entry = { key, value: new Uint8Array(value), lease };
    const missing = (): MissingPermission => this.#missing('key:write', [key]);
    return this.#calls.run({ method: 'enqueue', missing }, (time) => enqueue(this.#client, this.#namespace, entry, time), call);
  }

  async read(key: api.Key, options: api.CallOptions = {}): Promise<api.Entry | undefined> {
    const call = this.#calls.check(options);
    checkPath('key', key);
    const missing = (): MissingPermission => this.#missing('key:read', [key]);
    return this.#calls.run({ method: 'read', missing }, (time) => readEntry(this.#client, this.#namespace, key, time), call);
  }

  async list(prefix: api.Key, options: api.ListOptions = {}): Promise<readonly api.Entry[]> {
    const call = this.#calls.check(options);
    checkListing(options);
    checkPath('prefix', prefix);
    const missing = (): MissingPermission => this.#missing('key:read', [`${prefix}/`]);
    return this.#calls.run({ method: 'list', missing }, (time) => listEntries(this.#client, this.#namespace, prefix, options, time), call);
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
   * The version of the agent, if the token may read it, and what ends the sessions. Consul does not
   * report a clock.
   */
  async inspect(options: api.CallOptions = {}): Promise<api.StoreReport> {
    const call = this.#calls.check(options);
    const missing = (): MissingPermission => missingForAgent;
    const version = this.#calls.run({ method: 'inspect', missing }, (time) => agentVersion(this.#client, time.left), call);
    return inspect(version, this.#binding, this.capabilities);
  }

  /** Waits at most half a second for the agent to remove the services of ended leases. */
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

  #callOnLease<T>(method: string, task: (time: CallTime) => Promise<T>, call: api.TimedCall): Promise<T> {
    return this.#calls.run({ method, missing: () => missingForSessions }, task, call);
  }

  #missing(right: 'key:read' | 'key:write', keys: readonly api.Key[]): MissingPermission {
    return missingOnKeys(
      right,
      keys.map((key) => this.#namespace.path(key)),
      this.#namespace,
    );
  }
}
