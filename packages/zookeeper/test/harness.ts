/** A real ZooKeeper, as the cases of the conformance package want it. */

import type { Socket } from 'node:net';

import type { FaultyClient, StoreHarness, UseHarness } from '@incumbent/conformance';
import { systemClock, systemRandom, type Store } from '@incumbent/core';
import { hostOf, type Zookeeper } from '@incumbent/test-support';
import { type CaseResources, harnessOf, proxyFaults } from '@incumbent/test-support/conformance-harness';
import { connectSocket, parseEndpoints, SharedAllowance } from '@incumbent/network';

import { openZookeeper } from '../src/index.ts';
import { OPEN, ANY_VERSION, create, remove, setData } from '../src/protocol/nodes.ts';
import { endSession } from '../src/client/end-session.ts';
import { isCode } from '../src/errors.ts';
import { openSession, type ZooKeeperSession } from '../src/client/session.ts';
import { Passwords } from './support/passwords.ts';
import { WatchSilence } from './support/watch-silence.ts';

const CALL = { timeoutMs: 5_000 };

export function zookeeperHarness(zookeeper: () => Zookeeper): UseHarness {
  return harnessOf((resources) => new ZookeeperCase(zookeeper(), resources).harness());
}

class ZookeeperCase {
  readonly #zookeeper: Zookeeper;
  readonly #resources: CaseResources;
  readonly #passwords = new Passwords();
  #operator: Promise<ZooKeeperSession> | undefined;

  constructor(zookeeper: Zookeeper, resources: CaseResources) {
    this.#zookeeper = zookeeper;
    this.#resources = resources;
  }

  harness(): StoreHarness {
    return {
      ...this.#resources.common(),
      clock: systemClock,
      open: () => this.#open(this.#zookeeper.endpoints),
      faulty: () => this.#faulty(),
      operator: {
        put: (key, value) => this.#put(this.#path(key), value),
        deleteKey: async (key) =>
          void (await (await this.#session()).request(remove, { path: this.#path(key), version: ANY_VERSION }, CALL)),
        expireLease: (lease) => endSession(this.#sessionOptions(), this.#passwords.identity(lease), CALL),
      },
    };
  }

  /** Opened when it is first needed: a case that ends the server needs none. */
  #session(): Promise<ZooKeeperSession> {
    this.#operator ??= this.#openSession();
    return this.#operator;
  }

  async #openSession(): Promise<ZooKeeperSession> {
    const session = await openSession(this.#sessionOptions(), CALL);
    this.#resources.afterStores(() => session.close(CALL));
    return session;
  }

  #path(key: string): string {
    return `/${this.#resources.namespace}/${key}`;
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

  async #open(urls: readonly string[], listen: (socket: Socket) => void = () => {}): Promise<Store> {
    const store = await openZookeeper({
      endpoints: urls.map(hostOf),
      namespace: this.#resources.namespace,
      connect: async (endpoint, signal) => {
        const socket = this.#resources.addSocket(await connectSocket(endpoint, {}, signal));
        this.#passwords.listen(socket);
        listen(socket);
        return socket;
      },
    });
    return this.#resources.addStore(store);
  }

  async #faulty(): Promise<FaultyClient> {
    const proxy = await this.#resources.startProxy(this.#zookeeper.url);
    const silence = new WatchSilence();
    return {
      store: await this.#open([proxy.url], (socket) => silence.listen(socket)),
      noticesWithinMs: 6_000,
      recoversWithinMs: 5_000,
      faults: {
        ...proxyFaults(proxy),
        silenceWatches: async () => silence.begin(),
        heal: async () => {
          silence.heal();
          await proxy.heal();
        },
      },
    };
  }
}
