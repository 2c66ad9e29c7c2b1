/** A real etcd, for the cases of the conformance package. */

import { connect, type Socket } from 'node:net';

import type { FaultyClient, StoreHarness, UseHarness } from '@incumbent/conformance';
import { systemClock, type Store } from '@incumbent/core';
import { openEtcd, type EtcdOptions } from '@incumbent/etcd';
import { startProxy, type Etcd, type Proxy } from '@incumbent/test-support';

import { startWatchRelay, type WatchRelay } from './watch-relay.ts';

/**
 * The most frequent pings that etcd allows, so that the cases do not wait longer than they must.
 */
const KEEPALIVE = { intervalMs: 6_000, timeoutMs: 500 };

/** The store asks a stream of watches for a proof every 3 s, and waits 3 s for it. */
const SILENT_WATCH_MS = 6_500;

let cases = 0;

/** `host:port` of a URL. */
export function hostOf(url: string): string {
  return new URL(url).host;
}

function notHere(): Promise<void> {
  return Promise.reject(new Error('this link does not have that fault'));
}

export function etcdHarness(etcd: () => Etcd): UseHarness {
  return async (body) => {
    const one = new OneCase(etcd(), `case-${process.pid}-${(cases += 1)}`);
    try {
      await body(one.harness());
    } finally {
      await one.end();
    }
  };
}

class OneCase {
  readonly #etcd: Etcd;
  readonly #namespace: string;
  readonly #stores: Store[] = [];
  readonly #proxies: Proxy[] = [];
  readonly #relays: WatchRelay[] = [];
  readonly #sockets: Socket[] = [];

  constructor(etcd: Etcd, namespace: string) {
    this.#etcd = etcd;
    this.#namespace = namespace;
  }

  harness(): StoreHarness {
    return {
      clock: systemClock,
      ttlMs: 2_000,
      timeoutMs: 2_000,
      slackMs: 1_000,
      open: () => this.#open(this.#etcd.endpoints),
      offers: ['cut', 'refuse', 'dropReply', 'dropRequests', 'stall', 'reset', 'silenceWatches'],
      faulty: (fault) => (fault === 'silenceWatches' ? this.#silenceable() : this.#faulty()),
      operator: {
        put: (key, value) => putRaw(this.#etcd, `${this.#namespace}/${key}`, value),
        deleteKey: async (key) => this.#raw(['del', `${this.#namespace}/${key}`]),
        expireLease: async (lease) => this.#raw(['lease', 'revoke', lease]),
      },
      leaks: () => this.#leaks(),
    };
  }

  async end(): Promise<void> {
    await Promise.all(this.#stores.map((store) => store.close()));
    await Promise.all([...this.#proxies, ...this.#relays].map((each) => each.close()));
  }

  async #open(urls: readonly string[], options: Partial<EtcdOptions> = {}): Promise<Store> {
    const store = await openEtcd({
      endpoints: urls.map(hostOf),
      namespace: this.#namespace,
      keepalive: KEEPALIVE,
      connect: ({ host, port }) => this.#connect(host, port),
      ...options,
    });
    this.#stores.push(store);
    return store;
  }

  #connect(host: string, port: number): Socket {
    const socket = connect({ host, port, noDelay: true });
    this.#sockets.push(socket);
    return socket;
  }

  async #faulty(): Promise<FaultyClient> {
    const proxy = await startProxy(this.#etcd.url);
    this.#proxies.push(proxy);
    return {
      store: await this.#open([proxy.url]),
      noticesWithinMs: KEEPALIVE.intervalMs + KEEPALIVE.timeoutMs + 500,
      recoversWithinMs: 5_000,
      faults: {
        cut: async () => proxy.blackhole(),
        refuse: async () => {
          proxy.refuse();
          proxy.reset();
        },
        dropNextReply: async () => void proxy.dropNextReply(),
        dropRequests: async () => proxy.dropRequests(),
        stall: async () => proxy.stall(),
        reset: async () => proxy.reset(),
        silenceWatches: notHere,
        heal: () => proxy.heal(),
      },
    };
  }

  /** Watches share a connection with calls, so a proxy has to know HTTP/2 to silence them alone. */
  async #silenceable(): Promise<FaultyClient> {
    const relay = await startWatchRelay(this.#etcd.url);
    this.#relays.push(relay);
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

  async #leaks(): Promise<readonly string[]> {
    const sockets = this.#sockets.filter((socket) => !socket.destroyed).length;
    return sockets > 0 ? [`${sockets} sockets`] : [];
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
