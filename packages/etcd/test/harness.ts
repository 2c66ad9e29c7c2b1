/** A real etcd, for the cases of the conformance package. */

import { connect } from 'node:net';

import type { FaultyClient, StoreHarness, UseHarness } from '@incumbent/conformance';
import { systemClock, type Store } from '@incumbent/core';
import { openEtcd } from '@incumbent/etcd';
import { hostOf, type Etcd } from '@incumbent/test-support';
import { type CaseResources, harnessOf, proxyFaults } from '@incumbent/test-support/conformance-harness';

import { startWatchRelay } from './watch-relay.ts';

/**
 * The most frequent pings that etcd allows, so that the cases do not wait longer than they must.
 */
const KEEPALIVE = { intervalMs: 6_000, timeoutMs: 500 };

/** The store asks a stream of watches for a proof every 3 s, and waits 3 s for it. */
const SILENT_WATCH_MS = 6_500;

function notHere(): Promise<void> {
  return Promise.reject(new Error('this link does not have that fault'));
}

export function etcdHarness(etcd: () => Etcd): UseHarness {
  return harnessOf((resources) => new EtcdCase(etcd(), resources).harness());
}

class EtcdCase {
  readonly #etcd: Etcd;
  readonly #resources: CaseResources;

  constructor(etcd: Etcd, resources: CaseResources) {
    this.#etcd = etcd;
    this.#resources = resources;
  }

  harness(): StoreHarness {
    const { namespace } = this.#resources;
    return {
      ...this.#resources.common(),
      clock: systemClock,
      ttlMs: 2_000,
      slackMs: 1_000,
      sharedLeases: true,
      open: () => this.#open(this.#etcd.endpoints),
      faulty: (fault) => (fault === 'silenceWatches' ? this.#silenceable() : this.#faulty()),
      operator: {
        put: (key, value) => putRaw(this.#etcd, `${namespace}/${key}`, value),
        deleteKey: async (key) => this.#raw(['del', `${namespace}/${key}`]),
        expireLease: async (lease) => this.#raw(['lease', 'revoke', lease]),
      },
    };
  }

  async #open(urls: readonly string[]): Promise<Store> {
    const store = await openEtcd({
      endpoints: urls.map(hostOf),
      namespace: this.#resources.namespace,
      keepalive: KEEPALIVE,
      connect: ({ host, port }) => this.#resources.addSocket(connect({ host, port, noDelay: true })),
    });
    return this.#resources.addStore(store);
  }

  async #faulty(): Promise<FaultyClient> {
    const proxy = await this.#resources.startProxy(this.#etcd.url);
    return {
      store: await this.#open([proxy.url]),
      noticesWithinMs: KEEPALIVE.intervalMs + KEEPALIVE.timeoutMs + 500,
      recoversWithinMs: 5_000,
      faults: { ...proxyFaults(proxy), silenceWatches: notHere },
    };
  }

  /** Watches share a connection with calls, so a proxy has to know HTTP/2 to silence them alone. */
  async #silenceable(): Promise<FaultyClient> {
    const relay = await startWatchRelay(this.#etcd.url);
    this.#resources.afterStores(() => relay.close());
    return {
      store: await this.#open([relay.url]),
      noticesWithinMs: SILENT_WATCH_MS,
      recoversWithinMs: 5_000,
      faults: {
        cut: notHere,
        refuse: notHere,
        dropNextReply: notHere,
        dropRequests: notHere,
        stall: notHere,
        reset: notHere,
        silenceWatches: async () => relay.silence(),
        heal: async () => relay.heal(),
      },
    };
  }

  async #raw(command: readonly string[]): Promise<void> {
    await this.#etcd.ctl(command);
  }
}

/**
 * Writes any bytes, through the server's HTTP gateway: an argument of etcdctl cannot have a zero in
 * it.
 */
async function putRaw({ url }: Etcd, key: string, value: Uint8Array): Promise<void> {
  const body = JSON.stringify({ key: Buffer.from(key).toString('base64'), value: Buffer.from(value).toString('base64') });
  const response = await fetch(new URL('/v3/kv/put', url), { method: 'POST', body });
  if (!response.ok) throw new Error(`the gateway answered with ${response.status}`);
}

/** How many watches the server counts. */
export function watchersOf(etcd: Etcd): Promise<number> {
  return metricOf(etcd, 'etcd_debugging_mvcc_watcher_total', '');
}

/** The sum of a counter of the server's, over all of its lines that mention a word. */
export async function metricOf({ url }: Etcd, name: string, word: string): Promise<number> {
  const metrics = await (await fetch(new URL('/metrics', url))).text();
  const lines = metrics.split('\n').filter((line) => line.startsWith(name) && line.includes(word));
  if (lines.length === 0) throw new Error(`the server has no counter ${name}`);
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}
