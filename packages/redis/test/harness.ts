/** Clients of a real Redis, for the cases of the conformance package. */

import { connect, type Socket } from 'node:net';

import type { FaultyClient, StoreHarness, UseHarness } from '@incumbent/conformance';
import { systemClock, type Store } from '@incumbent/core';
import { requireStore, startProxy, startRedis, type Proxy, type Redis, type RedisServer } from '@incumbent/test-support';
import { afterAll, beforeAll, describe } from 'vitest';

import { openRedis, type RedisOptions } from '../src/index.ts';
import { Connection } from '../src/client/connection.ts';
import { bytesOf, textOf } from '../src/protocol/replies.ts';
import { isList } from '../src/protocol/resp.ts';

/**
 * Describes cases on one server, each of which has a namespace of its own. Skips them if there is
 * no such server.
 */
export async function describeOnRedis(
  title: string,
  body: (harness: UseHarness) => void,
  { version = 'default' }: { readonly version?: 'default' | 'newer' } = {},
): Promise<void> {
  describe.runIf(await requireStore({ store: 'redis', version, own: true }))(title, () => {
    let redis: RedisServer;

    beforeAll(async () => {
      redis = await startRedis({ version });
    });
    afterAll(() => redis.stop());

    body(redisHarness(() => redis));
  });
}

let cases = 0;

export function redisHarness(redis: () => Redis): UseHarness {
  return async (body) => {
    const one = new OneCase(redis(), `case-${process.pid}-${(cases += 1)}`);
    try {
      await body(one.harness());
    } finally {
      await one.end();
    }
  };
}

/** Opens a socket that does not keep the process alive. */
function connectTo(url: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const socket = connect({ host: hostname, port: Number(port), noDelay: true });
    socket.unref();
    socket.once('connect', () => resolve(socket)).once('error', reject);
  });
}

class OneCase {
  readonly #redis: Redis;
  readonly #namespace: string;
  readonly #stores: Store[] = [];
  readonly #proxies: Proxy[] = [];
  readonly #sockets: Socket[] = [];
  #operator: Promise<Connection> | undefined;

  constructor(redis: Redis, namespace: string) {
    this.#redis = redis;
    this.#namespace = namespace;
  }

  harness(): StoreHarness {
    const tag = `{${this.#namespace}}`;
    return {
      clock: systemClock,
      ttlMs: 1_000,
      timeoutMs: 2_000,
      slackMs: 1_500,
      open: () => this.#open(this.#redis.url),
      offers: ['cut', 'refuse', 'dropReply', 'dropRequests', 'stall', 'reset', 'silenceWatches'],
      faulty: () => this.#faulty(),
      // As with redis-cli: no script publishes these changes.
      operator: {
        put: async (key, value) => void (await this.#operate('SET', `${tag}/${key}`, value)),
        deleteKey: async (key) => void (await this.#operate('DEL', `${tag}/${key}`)),
        expireLease: (lease) => this.#expire(tag, lease),
      },
      leaks: async () => {
        const sockets = this.#sockets.filter((socket) => !socket.destroyed).length;
        return sockets > 0 ? [`${sockets} sockets`] : [];
      },
    };
  }

  async end(): Promise<void> {
    await Promise.all(this.#stores.map((store) => store.close()));
    await Promise.all(this.#proxies.map((proxy) => proxy.close()));
    const operator = await this.#operator;
    await operator?.request(['QUIT'], () => undefined);
  }

  async #operate(...args: readonly (string | Uint8Array)[]): Promise<readonly string[]> {
    this.#operator ??= connectTo(this.#redis.url).then((socket) => new Connection(socket, systemClock, { onPush: () => {} }));
    return (await this.#operator).request(args, (reply) => (isList(reply) ? Array.from(reply, (item) => textOf(bytesOf(item))) : []));
  }

  async #expire(tag: string, lease: string): Promise<void> {
    const keys = await this.#operate('SMEMBERS', `${tag}:bound:${lease}`);
    await this.#operate('DEL', `${tag}:lease:${lease}`, ...keys.map((key) => `${tag}/${key}`));
  }

  async #open(url: string, options: Partial<RedisOptions> = {}): Promise<Store> {
    const store = await openRedis({
      endpoints: [new URL(url).host],
      namespace: this.#namespace,
      connect: async () => {
        const socket = await connectTo(url);
        this.#sockets.push(socket);
        return socket;
      },
      ...options,
    });
    this.#stores.push(store);
    return store;
  }

  async #faulty(): Promise<FaultyClient> {
    const proxy = await startProxy(this.#redis.url);
    this.#proxies.push(proxy);
    return {
      store: await this.#open(proxy.url),
      noticesWithinMs: 5_000,
      recoversWithinMs: 4_000,
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
        // Changes arrive on the connection that calls use too. Calls move on to another connection.
        silenceWatches: async () => proxy.blackhole({ scope: 'existing' }),
        heal: () => proxy.heal(),
      },
    };
  }
}
