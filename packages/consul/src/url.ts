/** `consul://:token@host:8500/namespace?dc=dc1&session=check`; `consuls://` for TLS. */

import { readFile } from 'node:fs/promises';

import { checkOneOf, invalidOption } from '@incumbent/core';

import type { TlsOptions } from './http/socket.ts';
import type { ConsulOptions } from './options.ts';

const SHAPE =
  /^(?<scheme>consuls?):\/\/(?:(?<user>[^@/?#]*)@)?(?<host>[^@:/?#][^@/?#]*)(?:\/(?<namespace>[^@?#]*))?(?:\?(?<query>[^#]*))?$/;

const parameters = ['dc', 'ns', 'session', 'lockDelayMs', 'minSessionTtlMs', 'connectTimeoutMs', 'watchWaitMs', 'maxBlockingQueries'];
const tlsParameters = ['ca', 'cert', 'key', 'servername'];

/** Reads the files that the parameters `ca`, `cert` and `key` name. */
export async function readUrl(url: string): Promise<ConsulOptions> {
  const parts = SHAPE.exec(url)?.groups;
  // Never the URL itself: there may be a token in it.
  if (parts === undefined)
    throw invalidOption('url', /^\w+(?=:\/\/)/.exec(url)?.[0] ?? '…', 'consul://:token@host:port/namespace, or consuls:// for TLS');
  const query = new URLSearchParams(parts['query'] ?? '');
  const secure = parts['scheme'] === 'consuls';
  checkParameters(query, secure);
  const namespace = decoded('namespace', parts['namespace'] ?? '');
  return {
    endpoint: parts['host'] ?? '',
    ...(namespace === '' ? {} : { namespace }),
    ...(parts['user'] === undefined ? {} : { token: tokenIn(parts['user']) }),
    ...(query.has('dc') ? { datacenter: query.get('dc') ?? '' } : {}),
    ...(query.has('ns') ? { consulNamespace: query.get('ns') ?? '' } : {}),
    ...(query.has('session') ? { session: checkOneOf('session', query.get('session'), 'auto', ['auto', 'check', 'ttl']) } : {}),
    ...numbersIn(query),
    ...(secure ? { tls: await tlsIn(query) } : {}),
  };
}

function checkParameters(query: URLSearchParams, secure: boolean): void {
  const known = secure ? [...parameters, ...tlsParameters] : parameters;
  for (const name of query.keys()) {
    if (!known.includes(name)) throw invalidOption(`url parameter "${name}"`, '…', `left out: the parameters are ${known.join(', ')}`);
  }
}

/** Where a password stands in other URLs: Consul has no users. */
function tokenIn(user: string): string {
  if (!user.startsWith(':')) throw invalidOption('url', 'consul', 'given a token as :token@, with a colon before it');
  return decoded('token', user.slice(1));
}

function numbersIn(query: URLSearchParams): Partial<ConsulOptions> {
  const names = ['lockDelayMs', 'minSessionTtlMs', 'connectTimeoutMs', 'watchWaitMs', 'maxBlockingQueries'] as const;
  return Object.fromEntries(names.flatMap((name) => numberIn(query, name)));
}

function numberIn(query: URLSearchParams, name: string): readonly (readonly [string, number])[] {
  const text = query.get(name);
  if (text === null) return [];
  if (!/^\d+$/.test(text)) throw invalidOption(name, text, 'a number');
  return [[name, Number(text)]];
}

async function tlsIn(query: URLSearchParams): Promise<TlsOptions> {
  const [ca, cert, key] = await Promise.all(['ca', 'cert', 'key'].map((name) => fileIn(query, name)));
  const servername = query.get('servername');
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(servername === null ? {} : { servername }),
  };
}

async function fileIn(query: URLSearchParams, name: string): Promise<Uint8Array | undefined> {
  const path = query.get(name);
  return path === null ? undefined : readFile(path);
}

function decoded(what: string, text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw invalidOption(what, '…', 'percent-encoded');
  }
}
