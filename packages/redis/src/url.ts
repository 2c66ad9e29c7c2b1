/**
 * `redis://user:password@host1:6379,host2:6379/namespace?db=0&connectTimeoutMs=5000`; `rediss://` for TLS; `valkey://` and `valkeys://` say the same. By
 * hand, because the URL of the platform knows one host only.
 */

import { readFile } from 'node:fs/promises';

import { invalidOption } from '@incumbent/core';

import type { RedisOptions } from './options.ts';
import type { Credentials } from './wire/greeting.ts';
import type { TlsOptions } from './wire/socket.ts';

const SHAPE =
  /^(?<scheme>rediss?|valkeys?):\/\/(?:(?<user>[^@/?#]*)@)?(?<hosts>[^@/?#]+)(?:\/(?<namespace>[^?#]*))?(?:\?(?<query>[^#]*))?$/;

const parameters = ['connectTimeoutMs', 'db'];
const tlsParameters = ['ca', 'cert', 'key', 'servername'];

/** Reads the files that the parameters `ca`, `cert` and `key` name. */
export async function readUrl(url: string): Promise<RedisOptions> {
  const parts = SHAPE.exec(url)?.groups;
  // Never the URL itself: there may be a password in it.
  if (parts === undefined) throw invalidOption('url', url.split(':')[0], 'redis://host:port/namespace, or rediss:// for TLS');
  const query = new URLSearchParams(parts['query'] ?? '');
  const secure = parts['scheme'] === 'rediss' || parts['scheme'] === 'valkeys';
  checkParameters(query, secure);
  const namespace = decoded('namespace', parts['namespace'] ?? '');
  const [connectTimeoutMs, db] = [numberIn(query, 'connectTimeoutMs'), numberIn(query, 'db')];
  return {
    endpoints: (parts['hosts'] ?? '').split(','),
    ...(namespace === '' ? {} : { namespace }),
    ...(db === undefined ? {} : { db }),
    ...(connectTimeoutMs === undefined ? {} : { connectTimeoutMs }),
    ...(parts['user'] === undefined ? {} : { credentials: credentialsIn(parts['user']) }),
    ...(secure ? { tls: await tlsIn(query) } : {}),
  };
}

function checkParameters(query: URLSearchParams, secure: boolean): void {
  const known = secure ? [...parameters, ...tlsParameters] : parameters;
  for (const name of query.keys()) {
    if (!known.includes(name))
      throw invalidOption(`url parameter "${name}"`, query.get(name), `left out: the parameters are ${known.join(', ')}`);
  }
}

/** `user:password`, or `:password` for servers that merely have one. */
function credentialsIn(user: string): Credentials {
  const colon = user.indexOf(':');
  if (colon < 0) throw invalidOption('url', 'redis', 'given a user as user:password, or a password alone as :password');
  const password = decoded('password', user.slice(colon + 1));
  return colon === 0 ? { password } : { username: decoded('user', user.slice(0, colon)), password };
}

function numberIn(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (!/^\d+$/.test(text)) throw invalidOption(name, text, 'a number');
  return Number(text);
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
