/** Runs the cases of the conformance package on a real API server. */

import type { FaultyClient, Operator, StoreHarness, UseHarness } from '@incumbent/conformance';
import { systemClock, type Key, type LeaseId, type Store } from '@incumbent/core';
import { connectSocket } from '@incumbent/network';
import { KEYS_GROUP } from '@incumbent/test-support';
import { type CaseResources, harnessOf, proxyFaults } from '@incumbent/test-support/conformance-harness';

import { dataName, KeysReader, writeEntry } from '../src/keys/codec.ts';
import { keysPath, leasesPath, readLeaseId, type KeysResource, type Names } from '../src/names.ts';
import { openKubernetes, type KubernetesOptions } from '../src/index.ts';
import { fields, textFields } from '../src/objects/json.ts';
import { openDoor } from './door.ts';

/** Stands in for the ConfigMap, which the server for tests does not have. */
export const KEYS: KeysResource = { apiVersion: `${KEYS_GROUP}/v1`, kind: 'ConfigMap', plural: 'configmaps' };

/**
 * A request costs an API server and the etcd behind it several ms of processor time, some ten times
 * as much as one to etcd itself. So that no lease expires on a busy machine where a case does not
 * mean it to, leases and calls get more time than on other stores.
 */
const TIMES = { ttlMs: 5_000, timeoutMs: 5_000, slackMs: 3_000 };

/** How long one case may take. Most of it is waiting. */
export const CASE_TIMEOUT_MS = 180_000;

/** Of clients whose server becomes silent: the shortest, so that the cases end early. */
const FAULTY_WATCH_MS = 1_000;

/** What the cases need of an API server, be it real or not. */
export interface ApiServer {
  readonly url: string;
  /** The authority of the server's certificate, in PEM. Absent without TLS. */
  readonly ca?: string;
  readonly tokens: { readonly admin: string };
  /** Sends one request as the administrator. */
  call(method: string, path: string, body?: unknown): Promise<{ readonly status: number; readonly body: unknown }>;
}

/** `times`: those that differ from the usual ones of this store. */
export function kubernetesHarness(server: () => ApiServer, times: Partial<typeof TIMES> = {}): UseHarness {
  return harnessOf((resources) => ({ ...new KubernetesCase(server(), resources).harness(), ...times }));
}

class KubernetesCase {
  readonly #server: ApiServer;
  readonly #resources: CaseResources;
  readonly #names: Names;

  constructor(server: ApiServer, resources: CaseResources) {
    this.#server = server;
    this.#resources = resources;
    this.#names = { namespace: 'default', prefix: resources.namespace, keys: KEYS };
  }

  harness(): StoreHarness {
    return {
      ...this.#resources.common(),
      ...TIMES,
      clock: systemClock,
      open: () => this.#open(this.#server.url),
      faulty: () => this.#faulty(),
      operator: this.#operator(),
      leaks: async () => [...this.#resources.openSockets(), ...(await this.#leases())],
    };
  }

  async #open(server: string, options: Pick<KubernetesOptions, 'watchMs'> = {}): Promise<Store> {
    const { ca, tokens } = this.#server;
    const store = await openKubernetes({
      server,
      token: tokens.admin,
      ...(server.startsWith('https:') && ca !== undefined ? { tls: { ca } } : {}),
      namespace: this.#names.namespace,
      prefix: this.#names.prefix,
      keysResource: KEYS,
      ...options,
      connect: async (endpoint, signal, tls) =>
        this.#resources.addSocket(await connectSocket(endpoint, { tls, protocols: ['http/1.1'] }, signal)),
    });
    return this.#resources.addStore(store);
  }

  /** Through a door that adds TLS, so that the proxy in front of it sees the requests. */
  async #faulty(): Promise<FaultyClient> {
    const door = await openDoor(this.#server.url, this.#server.ca);
    this.#resources.afterStores(() => door.close());
    const proxy = await this.#resources.startProxy(door.url);
    return {
      store: await this.#open(proxy.url, { watchMs: FAULTY_WATCH_MS }),
      noticesWithinMs: FAULTY_WATCH_MS + 2_500,
      recoversWithinMs: 5_000,
      faults: {
        ...proxyFaults(proxy),
        // A change may begin with a read, or be refused first because another one came before.
        dropNextReply: async () => door.dropNextReply(),
        heal: async () => {
          door.heal();
          await proxy.heal();
        },
        silenceWatches: async () => proxy.silence((request) => request.includes('watch=true')),
      },
    };
  }

  #operator(): Operator {
    return {
      put: (key, value) =>
        this.#edit((data) => {
          const { count } = new KeysReader().read(data);
          const entry = { value, created: count + 1, modified: count + 1, lease: undefined };
          return { ...data, [dataName(key)]: writeEntry(entry), _count: String(count + 1) };
        }),
      deleteKey: (key) => this.#edit((data) => without(data, key)),
      expireLease: (lease) => this.#expire(lease),
    };
  }

  async #edit(change: (data: Readonly<Record<string, string>>) => Readonly<Record<string, string>>): Promise<void> {
    const collection = keysPath(this.#names);
    const path = `${collection}/${this.#names.prefix}`;
    for (;;) {
      const { status, body } = await this.#server.call('GET', path);
      const known = status === 404 ? undefined : fields(body);
      const data = change(known === undefined ? {} : textFields(fields(known['data'])));
      const answer =
        known === undefined
          ? await this.#server.call('POST', collection, { ...KEYS, metadata: { name: this.#names.prefix }, data })
          : await this.#server.call('PUT', path, { ...known, data });
      if (answer.status < 300) return;
      if (answer.status !== 409) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
    }
  }

  async #expire(lease: LeaseId): Promise<void> {
    const { status } = await this.#server.call('DELETE', `${leasesPath(this.#names)}/${readLeaseId(lease)?.name}`);
    if (status !== 200) throw new Error(`the lease was not deleted: ${status}`);
  }

  /** Leases of the case that still exist. */
  async #leases(): Promise<readonly string[]> {
    const { body } = await this.#server.call('GET', `${leasesPath(this.#names)}?labelSelector=incumbent/prefix%3D${this.#names.prefix}`);
    const { items } = fields(body);
    return Array.isArray(items) && items.length > 0 ? [`${items.length} leases`] : [];
  }
}

function without(data: Readonly<Record<string, string>>, key: Key): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(data).filter(([name]) => name !== dataName(key)));
}
