/** The settings of a client of the package `redis` (node-redis). */

import { invalidSecret } from '@incumbent/core/adapter';
import { omitUndefined, type TlsOptions } from '@incumbent/network';

import type { Credentials } from '../client/greeting.ts';
import type { RedisOptions } from '../options.ts';
import { type ClientSettings, credentialsIn, endpointIn, tlsIn } from './client-settings.ts';
import { addressIn } from './node-url.ts';
import { agreedOn, NO_TRANSLATION, type Overrides } from './taken.ts';

const SERVER = { host: 'localhost', port: 6379 };
const SENTINEL = { host: 'localhost', port: 26_379 };

/** Made by `createClient` or another function of the package. Other clients have no such flag. */
export function isNodeRedis(client: ClientSettings): boolean {
  return typeof client.at('isOpen') === 'boolean';
}

export function nodeRedisOptions(client: ClientSettings, overrides: Overrides): RedisOptions {
  const cluster = client.at('_options');
  if (typeof cluster === 'object') return clusterOptions(client, overrides);
  const options = client.section('options');
  if (options === undefined)
    throw invalidSecret(
      'client',
      client,
      'one of createClient or createCluster (version 5 or newer), or the options that createSentinel was given',
      'a client of the package redis that keeps its settings to itself, as those of createSentinel and createClientPool do',
    );
  const socket = options.section('socket');
  socket?.refuse('path', 'the store connects by TCP: give openRedis endpoints and connect in place of client');
  return {
    endpoints: [endpointIn(socket ?? options, SERVER)],
    ...omitUndefined({
      db: options.integer('database'),
      credentials: overrides.credentials ?? loginIn(options),
      tls: overrides.tls ?? tlsOf(socket),
    }),
  };
}

/** The options of `createSentinel`. The client itself keeps them to itself. */
export function isSentinelOptions(client: ClientSettings): boolean {
  return Array.isArray(client.at('sentinelRootNodes'));
}

export function sentinelOptions(options: ClientSettings, overrides: Overrides): RedisOptions {
  options.refuse('nodeAddressMap', NO_TRANSLATION);
  const master = options.text('name');
  if (master === undefined) throw options.invalid('name', master, 'the name that the Sentinels have for the primary');
  const endpoints = options.sections('sentinelRootNodes').map((node) => endpointIn(node, SENTINEL));
  const [servers, sentinels] = [options.section('nodeClientOptions'), options.section('sentinelClientOptions')];
  return {
    sentinel: {
      endpoints: [...new Set(endpoints)],
      master,
      ...omitUndefined({ credentials: loginIn(sentinels), tls: tlsOf(sentinels?.section('socket')) }),
    },
    ...omitUndefined({
      db: servers?.integer('database'),
      credentials: overrides.credentials ?? loginIn(servers),
      tls: overrides.tls ?? tlsOf(servers?.section('socket')),
    }),
  };
}

function clusterOptions(client: ClientSettings, overrides: Overrides): RedisOptions {
  const options = client.section('_options') ?? client;
  options.refuse('nodeAddressMap', NO_TRANSLATION);
  const defaults = options.section('defaults');
  const nodes = options.sections('rootNodes').map(rootNode);
  const credentials = overrides.credentials ?? loginIn(defaults) ?? agreedOn(nodes.map((node) => node.credentials));
  const tls = overrides.tls ?? tlsOf(defaults?.section('socket')) ?? nodes.find((node) => node.tls !== undefined)?.tls;
  return { endpoints: [...new Set(nodes.map(({ endpoint }) => endpoint))], ...omitUndefined({ credentials, tls }) };
}

interface RootNode {
  readonly endpoint: string;
  readonly credentials: Credentials | undefined;
  readonly tls: TlsOptions | undefined;
}

function rootNode(node: ClientSettings): RootNode {
  const socket = node.section('socket');
  const url = node.text('url');
  if (url === undefined) return { endpoint: endpointIn(socket ?? node, SERVER), credentials: loginIn(node), tls: tlsOf(socket) };
  const { endpoint, credentials, isSecure } = addressIn(url, `${node.path}.url`, SERVER);
  return { endpoint, credentials: credentials ?? loginIn(node), tls: isSecure ? (tlsOf(socket, true) ?? {}) : undefined };
}

/**
 * The client makes a provider of each user and password, and keeps these. A provider without them
 * comes from the application, and its passwords change.
 */
function loginIn(options: ClientSettings | undefined): Credentials | undefined {
  const login = credentialsIn(options);
  if (login === undefined)
    options?.refuse('credentialsProvider', 'the store logs in with one password: give openRedis the option credentials besides the client');
  return login;
}

function tlsOf(socket: ClientSettings | undefined, isSecure: boolean = socket?.at('tls') === true): TlsOptions | undefined {
  return socket !== undefined && isSecure ? tlsIn(socket) : undefined;
}
