/** Clients of a real Redis, for the cases of the conformance package. */

import type { FaultyClient, StoreHarness, UseHarness } from '@incumbent/conformance';
import { systemClock, type Store } from '@incumbent/core';
import { hostOf, startRedis, type Redis } from '@incumbent/test-support';
import { type CaseResources, harnessOf, openSocket, proxyFaults } from '@incumbent/test-support/conformance-harness';
import { describeOnServer } from '@incumbent/test-support/server-suite';

import { openRedis } from '../src/index.ts';
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
  await describeOnServer(title, { store: 'redis', version, start: () => startRedis({ version }) }, (redis) => body(redisHarness(redis)));
}

export function redisHarness(redis: () => Redis): UseHarness {
  return harnessOf((resources) => new RedisCase(redis(), resources).harness());
}

class RedisCase {
  readonly #redis: Redis;
  readonly #resources: CaseResources;
  #operator: Promise<Connection> | undefined;

  constructor(redis: Redis, resources: CaseResources) {
    this.#redis = redis;
    this.#resources = resources;
  }

  harness(): StoreHarness {
    const tag = `{${this.#resources.namespace}}`;
    return {
      ...this.#resources.common(),
      clock: systemClock,
      ttlMs: 1_000,
      sharedLeases: true,
      looks: true,
      open: () => this.#open(this.#redis.url),
      faulty: () => this.#faulty(),
      // As with redis-cli: no script publishes these changes.
      operator: {
        put: async (key, value) => void (await this.#operate('SET', `${tag}/${key}`, value)),
        deleteKey: async (key) => void (await this.#operate('DEL', `${tag}/${key}`)),
        expireLease: (lease) => this.#expire(tag, lease),
      },
    };
  }

  async #operate(...args: readonly (string | Uint8Array)[]): Promise<readonly string[]> {
    this.#operator ??= this.#connectOperator();
    return (await this.#operator).request(args, (reply) => (isList(reply) ? Array.from(reply, (item) => textOf(bytesOf(item))) : []));
  }

  async #connectOperator(): Promise<Connection> {
    const connection = new Connection(await openSocket(this.#redis.url), systemClock, { onPush: () => {} });
    this.#resources.afterStores(() => connection.request(['QUIT'], () => undefined));
    return connection;
  }

  async #expire(tag: string, lease: string): Promise<void> {
    const keys = await this.#operate('SMEMBERS', `${tag}:bound:${lease}`);
    await this.#operate('DEL', `${tag}:lease:${lease}`, ...keys.map((key) => `${tag}/${key}`));
  }

  async #open(url: string): Promise<Store> {
    const store = await openRedis({
      endpoints: [hostOf(url)],
      namespace: this.#resources.namespace,
      connect: async () => this.#resources.addSocket(await openSocket(url)),
    });
    return this.#resources.addStore(store);
  }

  async #faulty(): Promise<FaultyClient> {
    const proxy = await this.#resources.startProxy(this.#redis.url);
    return {
      store: await this.#open(proxy.url),
      noticesWithinMs: 5_000,
      recoversWithinMs: 4_000,
      faults: {
        ...proxyFaults(proxy),
        // Changes arrive on the connection that calls use too. Calls move on to another connection.
        silenceWatches: async () => proxy.blackhole({ scope: 'existing' }),
      },
    };
  }
}
