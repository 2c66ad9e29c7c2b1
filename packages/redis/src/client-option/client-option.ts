/** The option `client`: the settings of a client that the application has configured already. */

import { checkKnown, invalidSecret } from '@incumbent/core/adapter';
import { omitUndefined } from '@incumbent/network';

import type { RedisOptions } from '../options.ts';
import { ClientSettings } from './client-settings.ts';
import { ioredisOptions, isIoredis } from './ioredis.ts';
import { isNodeRedis, isSentinelOptions, nodeRedisOptions, sentinelOptions } from './node-redis.ts';

/**
 * A client of [ioredis](https://github.com/redis/ioredis), version 5 or 6: a `Redis` or a
 * `Cluster`. Or a client of [redis](https://github.com/redis/node-redis), version 4 to 6, made by
 * `createClient`, or from version 5 on by `createCluster`. The store reads its settings once, and
 * neither uses nor closes its connections.
 */
export interface RedisClient {
  connect(): Promise<unknown>;
}

/**
 * The options of `createSentinel` of the package `redis`, whose client keeps its settings to
 * itself.
 */
export interface SentinelClientOptions {
  /** The name that the Sentinels have for the primary. */
  readonly name: string;
  readonly sentinelRootNodes: readonly { readonly host: string; readonly port: number }[];
  /** The login and the socket of the servers. */
  readonly nodeClientOptions?: object | undefined;
  /** The login and the socket of the Sentinels. */
  readonly sentinelClientOptions?: object | undefined;
}

/**
 * Takes over the servers, the login, TLS and the number of the database of a client that the
 * application has configured already. The options besides the client replace the client's own
 * settings. The client's `keyPrefix` has no effect on the store.
 */
export interface RedisClientOptions extends Omit<RedisOptions, 'endpoints' | 'sentinel'> {
  /**
   * A client of the package `ioredis` or `redis`, connected or not. Of `createSentinel`, the
   * options that it was given.
   */
  readonly client: RedisClient | SentinelClientOptions;
}

const KNOWN = ['client', 'namespace', 'db', 'connectTimeoutMs', 'tls', 'credentials', 'connect', 'clock'];

/**
 * The options that open the servers of the client. Throws a `TypeError` or `RangeError`
 * (`INVALID_OPTION`) for a client whose settings cannot be read or cannot be taken over. The error
 * names the setting and never shows its value.
 */
export function optionsOfClient(options: RedisClientOptions): RedisOptions {
  checkKnown('redis', options, KNOWN);
  const { client, ...own } = options;
  if ((typeof client !== 'object' && typeof client !== 'function') || client === null) throw foreign(client);
  const settings = new ClientSettings(client, 'client');
  const { credentials, tls, connect } = own;
  // The streams of `connect` replace the client's TLS, whatever its settings are.
  const overrides = { credentials, tls: connect === undefined ? tls : {} };
  const read = isIoredis(settings)
    ? ioredisOptions
    : isNodeRedis(settings)
      ? nodeRedisOptions
      : isSentinelOptions(settings)
        ? sentinelOptions
        : undefined;
  if (read === undefined) throw foreign(client);
  const taken = read(settings, overrides);
  return { ...(connect === undefined ? taken : withoutTls(taken)), ...omitUndefined(own) };
}

function withoutTls({ tls: _, sentinel, ...others }: RedisOptions): RedisOptions {
  if (sentinel === undefined) return others;
  const { tls: __, ...plain } = sentinel;
  return { ...others, sentinel: plain };
}

function foreign(client: unknown): Error {
  return invalidSecret('client', client, 'a client of the package ioredis or redis, or the options that createSentinel of redis was given');
}
