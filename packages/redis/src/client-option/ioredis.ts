/** The settings of a client of the package `ioredis`. */

import { invalidSecret } from '@incumbent/core/adapter';
import { endpointName, omitUndefined, type TlsOptions } from '@incumbent/network';

import type { Credentials } from '../client/greeting.ts';
import type { RedisOptions } from '../options.ts';
import { ClientSettings, credentialsIn, endpointIn, tlsIn } from './client-settings.ts';
import { addressIn } from './node-url.ts';
import { agreedOn, NO_TRANSLATION, type Overrides } from './taken.ts';

const SERVER = { host: 'localhost', port: 6379 };
const SENTINEL = { host: 'localhost', port: 26_379 };
const NODE = { host: '127.0.0.1', port: 6379 };

/** A `Redis` or a `Cluster` of ioredis. Other clients have no text as their `status`. */
export function isIoredis(client: ClientSettings): boolean {
  return typeof client.at('status') === 'string' && typeof client.at('options') === 'object';
}

export function ioredisOptions(client: ClientSettings, overrides: Overrides): RedisOptions {
  const options = client.section('options') ?? client;
  options.refuse('natMap', NO_TRANSLATION);
  if (client.at('isCluster') === true) return clusterOptions(client, options, overrides);
  options.refuse('Connector', 'the store connects by itself: give openRedis endpoints or sentinel, and connect, in place of client');
  const shared = omitUndefined({ db: options.integer('db'), credentials: overrides.credentials ?? credentialsIn(options) });
  if (options.at('sentinels') === undefined) {
    options.refuse('path', 'the store connects by TCP: give openRedis endpoints and connect in place of client');
    return { ...shared, endpoints: [endpointIn(options, SERVER)], ...omitUndefined({ tls: overrides.tls ?? tlsOf(options, 'tls') }) };
  }
  const master = options.text('name');
  if (master === undefined) throw options.invalid('name', master, 'the name that the Sentinels have for the primary');
  const login = { username: 'sentinelUsername', password: 'sentinelPassword' };
  const sentinels = options.sections('sentinels').map((sentinel) => endpointIn(sentinel, SENTINEL));
  // Without this setting, ioredis connects to the servers without TLS, whatever `tls` says.
  const tls = options.at('enableTLSForSentinelMode') === true ? tlsOf(options, 'tls') : undefined;
  return {
    ...shared,
    ...omitUndefined({ tls: overrides.tls ?? tls }),
    sentinel: {
      endpoints: [...new Set(sentinels)],
      master,
      ...omitUndefined({ credentials: credentialsIn(options, login), tls: tlsOf(options, 'sentinelTLS') }),
    },
  };
}

interface StartupNode {
  readonly endpoint: string;
  readonly credentials: Credentials | undefined;
  readonly tls: TlsOptions | undefined;
}

function clusterOptions(client: ClientSettings, options: ClientSettings, overrides: Overrides): RedisOptions {
  if (options.at('useSRVRecords') === true)
    options.refuse('useSRVRecords', 'the store does not read SRV records: give openRedis endpoints in place of client');
  const nodes = client.items('startupNodes').map(([node, path]) => startupNode(node, path));
  const redis = options.section('redisOptions');
  const credentials = overrides.credentials ?? credentialsIn(redis) ?? agreedOn(nodes.map((node) => node.credentials));
  const tls = overrides.tls ?? (redis && tlsOf(redis, 'tls')) ?? nodes.find((node) => node.tls !== undefined)?.tls;
  return { endpoints: [...new Set(nodes.map(({ endpoint }) => endpoint))], ...omitUndefined({ credentials, tls }) };
}

/** A port, `host:port`, a URL, or an object: all that ioredis accepts. */
function startupNode(node: unknown, path: string): StartupNode {
  const plain = { credentials: undefined, tls: undefined };
  if (typeof node === 'number' || (typeof node === 'string' && /^\d+$/.test(node)))
    return { ...plain, endpoint: endpointName({ ...NODE, port: Number(node) }) };
  if (typeof node === 'string') {
    const { endpoint, credentials, isSecure } = addressIn(node.includes('://') ? node : `redis://${node}`, path, NODE);
    return { endpoint, credentials, tls: isSecure ? {} : undefined };
  }
  if (typeof node !== 'object' || node === null) throw invalidSecret(path, node, 'a port, "host:port", a URL or an object');
  const settings = new ClientSettings(node, path);
  return { endpoint: endpointIn(settings, NODE), credentials: credentialsIn(settings), tls: tlsOf(settings, 'tls') };
}

function tlsOf(options: ClientSettings, name: string): TlsOptions | undefined {
  if (options.at(name) === true) return {};
  const tls = options.section(name);
  return tls && tlsIn(tls);
}
