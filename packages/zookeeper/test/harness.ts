/** A real ZooKeeper, as the cases of the conformance package want it. */

import { connect, type Socket } from 'node:net';

import type { FaultyClient, StoreHarness, UseHarness } from '@incumbent/conformance';
import { systemClock, systemRandom, type Store } from '@incumbent/core';
import { startProxy, type Proxy, type Zookeeper } from '@incumbent/test-support';
import { connectSocket, parseEndpoints, SharedAllowance } from '@incumbent/network';

import { openZookeeper, type ZookeeperOptions } from '../src/index.ts';
import { OPEN, ANY_VERSION, create, remove, setData } from '../src/protocol/nodes.ts';
import { endSession } from '../src/client/end-session.ts';
import { isCode } from '../src/errors.ts';
import { openSession, type ZooKeeperSession } from '../src/client/session.ts';
import { Passwords } from './support/passwords.ts';
import { WatchSilence } from './support/watch-silence.ts';

const CALL = { timeoutMs: 5_000 };

let cases = 0;

/** `host:port` of a URL. */
function hostOf(url: string): string {
  return new URL(url).host;
}

export function zookeeperHarness(zookeeper: () => Zookeeper): UseHarness {
  return async (body) => {
    const one = new OneCase(zookeeper(), `case-${process.pid}-${(cases += 1)}`);
    try {
      await body(one.harness());
    } finally {
      await one.end();
    }
  };
}

class OneCase {
  readonly #zookeeper: Zookeeper;
  readonly #namespace: string;
  readonly #stores: Store[] = [];
  readonly #proxies: Proxy[] = [];
  readonly #sockets: Socket[] = [];
  readonly #passwords = new Passwords();
  #operator: Promise<ZooKeeperSession> | undefined;

  constructor(zookeeper: Zookeeper, namespace: string) {
    this.#zookeeper = zookeeper;
    this.#namespace = namespace;
  }

  harness(): StoreHarness {
    return {
      clock: systemClock,
      ttlMs: 2_000,
      timeoutMs: 2_000,
      slackMs: 1_500,
      open: () => this.#open(this.#zookeeper.endpoints),
      offers: ['cut', 'refuse', 'dropReply', 'dropRequests', 'stall', 'reset', 'silenceWatches'],
      faulty: () => this.#faulty(),
      operator: {
        put: (key, value) => this.#put(this.#path(key), value),
        deleteKey: async (key) =>
          void (await (await this.#session()).request(remove, { path: this.#path(key), version: ANY_VERSION }, CALL)),
        expireLease: (lease) => endSession(this.#sessionOptions(), this.#passwords.identity(lease), CALL),
      },
      leaks: () => this.#leaks(),
    };
  }

  async end(): Promise<void> {
    await Promise.all(this.#stores.map((store) => store.close()));
    await Promise.all(this.#proxies.map((proxy) => proxy.close()));
    const operator = await this.#operator;
    await operator?.close(CALL);
  }

  /** Opened when it is first needed: a case that ends the server needs none. */
  #session(): Promise<ZooKeeperSession> {
    this.#operator ??= openSession(this.#sessionOptions(), CALL);
    return this.#operator;
  }

  #path(key: string): string {
    return `/${this.#namespace}/${key}`;
  }

  #sessionOptions() {
    return {
      clock: systemClock,
      random: systemRandom,
      endpoints: parseEndpoints([hostOf(this.#zookeeper.url)], 2181),
      connect: (endpoint: { host: string; port: number }, signal: AbortSignal) => connectSocket(endpoint, {}, signal),
      connectTimeoutMs: 2_000,
      handshakeTimeoutMs: 2_000,
      answers: new SharedAllowance(),
      timeoutMs: 6_000,
      auths: [],
    };
  }

  async #put(path: string, data: Uint8Array): Promise<void> {
    const operator = await this.#session();
    try {
      await operator.request(setData, { path, data, version: ANY_VERSION }, CALL);
    } catch (error) {
      if (!isCode(error, 'NONODE')) throw error;
      await this.#make(operator, path, data);
    }
  }

  async #make(operator: ZooKeeperSession, path: string, data: Uint8Array | undefined): Promise<void> {
    const request = { path, data, acls: OPEN, mode: 'persistent' } as const;
    try {
      await operator.request(create, request, CALL);
    } catch (error) {
      if (!isCode(error, 'NONODE')) throw error;
      await this.#make(operator, path.slice(0, path.lastIndexOf('/')), undefined);
      await operator.request(create, request, CALL);
    }
  }

  async #open(urls: readonly string[], options: Partial<ZookeeperOptions> = {}): Promise<Store> {
    const store = await openZookeeper({
      endpoints: urls.map(hostOf),
      namespace: this.#namespace,
      connect: ({ host, port }, signal) => this.#connect(host, port, signal),
      ...options,
    });
    this.#stores.push(store);
    return store;
  }

  #connect(host: string, port: number, signal: AbortSignal): Promise<Socket> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host, port, noDelay: true, signal });
      this.#sockets.push(socket);
      this.#passwords.listen(socket);
      socket.unref();
      socket.once('connect', () => resolve(socket)).once('error', reject);
    });
  }

  async #faulty(): Promise<FaultyClient> {
    const proxy = await startProxy(this.#zookeeper.url);
    this.#proxies.push(proxy);
    const silence = new WatchSilence();
    const connectTapped = async ({ host, port }: { host: string; port: number }, signal: AbortSignal): Promise<Socket> => {
      const socket = await this.#connect(host, port, signal);
      silence.listen(socket);
      return socket;
    };
    return {
      store: await this.#open([proxy.url], { connect: connectTapped }),
      noticesWithinMs: 6_000,
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
        silenceWatches: async () => silence.begin(),
        heal: async () => {
          silence.heal();
          await proxy.heal();
        },
      },
    };
  }

  async #leaks(): Promise<readonly string[]> {
    const sockets = this.#sockets.filter((socket) => !socket.destroyed).length;
    return sockets > 0 ? [`${sockets} sockets`] : [];
  }
}
