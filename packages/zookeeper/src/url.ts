/**
 * `zookeeper://user:password@host1:2181,host2:2181/namespace?connectTimeoutMs=5000`; `zookeepers://` for TLS. By hand, because the URL of the platform
 * knows one host only.
 */

import { readFile } from 'node:fs/promises';

import { invalidOption } from '@incumbent/core';

import type { Credentials, ZookeeperOptions } from './options.ts';
import type { TlsOptions } from './wire/socket.ts';

const SHAPE = /^(?<scheme>zookeepers?):\/\/(?:(?<user>[^@/?#]*)@)?(?<hosts>[^@/?#]+)(?:\/(?<namespace>[^?#]*))?(?:\?(?<query>[^#]*))?$/;

const parameters = ['connectTimeoutMs', 'acl'];
const tlsParameters = ['ca', 'cert', 'key', 'servername'];

/** Reads the files that the parameters `ca`, `cert` and `key` name. */
export async function readUrl(url: string): Promise<ZookeeperOptions> {
  const parts = SHAPE.exec(url)?.groups;
  // Never the URL itself: there may be a password in it.
  if (parts === undefined)
    throw invalidOption('url', url.split(':')[0], 'zookeeper://host:port,host:port/namespace, or zookeepers:// for TLS');
  const query = new URLSearchParams(parts['query'] ?? '');
  const secure = parts['scheme'] === 'zookeepers';
  checkParameters(query, secure);
  const namespace = decoded('namespace', parts['namespace'] ?? '');
  const [connectTimeoutMs, acl] = [numberIn(query, 'connectTimeoutMs'), aclIn(query)];
  return {
    endpoints: (parts['hosts'] ?? '').split(','),
    ...(namespace === '' ? {} : { namespace }),
    ...(connectTimeoutMs === undefined ? {} : { connectTimeoutMs }),
    ...(acl === undefined ? {} : { acl }),
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

function credentialsIn(user: string): Credentials {
  const colon = user.indexOf(':');
  if (colon < 1) throw invalidOption('url', 'zookeeper', 'given a user as user:password');
  return { username: decoded('user', user.slice(0, colon)), password: decoded('password', user.slice(colon + 1)) };
}

function aclIn(query: URLSearchParams): 'open' | 'creator' | undefined {
  const acl = query.get('acl');
  if (acl === null) return undefined;
  if (acl !== 'open' && acl !== 'creator') throw invalidOption('acl', acl, 'open or creator');
  return acl;
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
