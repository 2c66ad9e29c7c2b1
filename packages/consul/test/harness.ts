/** A real Consul, as the cases of the conformance package want it. */

import type { Socket } from 'node:net';

import type { FaultyClient, StoreHarness, UseHarness } from '@incumbent/conformance';
import { systemClock, type Store } from '@incumbent/core';
import { startProxy, type Consul, type Proxy } from '@incumbent/test-support';
import { connectSocket } from '@incumbent/network';

import { openConsul, type ConsulOptions } from '../src/index.ts';
import { Operator } from './operator.ts';

/** The shortest that can be asked for, so that the cases do not wait longer than they must. */
const WATCH_WAIT_MS = 1_000;

let cases = 0;

/** `host:port` of a URL. */
function hostOf(url: string): string {
  return new URL(url).host;
}

interface Timing {
  readonly ttlMs: number;
  readonly session: 'check' | 'ttl';
  /** The servers' `session_ttl_min`; as they come if left out. */
  readonly minSessionTtlMs?: number;
}

export function consulHarness(consul: () => Consul, timing: Timing): UseHarness {
  return async (body) => {
    const one = new OneCase(consul(), `case-${process.pid}-${(cases += 1)}`, timing);
    try {
      await body(one.harness());
    } finally {
      await one.end();
    }
  };
}

class OneCase {
  readonly #consul: Consul;
  readonly #namespace: string;
  readonly #ttlMs: number;
  readonly #options: Omit<Timing, 'ttlMs'>;
  readonly #stores: Store[] = [];
  readonly #proxies: Proxy[] = [];
  readonly #sockets: Socket[] = [];
  readonly #operator: Operator;

  constructor(consul: Consul, namespace: string, timing: Timing) {
    this.#consul = consul;
    this.#namespace = namespace;
    const { ttlMs, ...options } = timing;
    this.#ttlMs = ttlMs;
    this.#options = options;
    this.#operator = new Operator(consul.url);
  }

  harness(): StoreHarness {
    return {
      clock: systemClock,
      ttlMs: this.#ttlMs,
      timeoutMs: 2_000,
      slackMs: 1_500,
      open: () => this.#open(this.#consul.url),
      offers: ['cut', 'refuse', 'dropReply', 'dropRequests', 'stall', 'reset', 'silenceWatches'],
      faulty: () => this.#faulty(),
      operator: {
        put: (key, value) => this.#operator.put(`${this.#namespace}/${key}`, value),
        deleteKey: (key) => this.#operator.delete(`${this.#namespace}/${key}`),
        expireLease: (lease) => this.#operator.destroySession(lease),
      },
      leaks: () => this.#leaks(),
    };
  }

  async end(): Promise<void> {
    await Promise.all(this.#stores.map((store) => store.close()));
    await Promise.all(this.#proxies.map((proxy) => proxy.close()));
  }

  async #open(url: string, options: Partial<ConsulOptions> = {}): Promise<Store> {
    const store = await openConsul({
      endpoint: hostOf(url),
      namespace: this.#namespace,
      watchWaitMs: WATCH_WAIT_MS,
      ...this.#options,
      connect: async (endpoint, signal) => {
        const socket = await connectSocket(endpoint, {}, signal);
        this.#sockets.push(socket);
        return socket;
      },
      ...options,
    });
    this.#stores.push(store);
    return store;
  }

  async #faulty(): Promise<FaultyClient> {
    const proxy = await startProxy(this.#consul.url);
    this.#proxies.push(proxy);
    return {
      store: await this.#open(proxy.url),
      noticesWithinMs: WATCH_WAIT_MS * (1 + 1 / 16) + 1_500,
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
        // Each blocking query has a connection to itself while the server holds it, and may end just now.
        silenceWatches: async () => proxy.silence((request) => request.includes('index=')),
        heal: () => proxy.heal(),
      },
    };
  }

  /** Sockets of these clients, and checks that live on an agent though no session lives by them. */
  async #leaks(): Promise<readonly string[]> {
    const sockets = this.#sockets.filter((socket) => !socket.destroyed).length;
    const checks = await this.#operator.checks(`incumbent ${this.#namespace}`);
    return [...(sockets > 0 ? [`${sockets} sockets`] : []), ...(checks > 0 ? [`${checks} checks`] : [])];
  }
}
