/** `host:port,host:port/chroot`: how ZooKeeper's own tools are told where an ensemble is. */

import { invalidOption } from '@incumbent/core';

export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

export interface ConnectString {
  readonly endpoints: readonly Endpoint[];
  /** What all paths stand under: `/a/b`; empty for the root. Servers know nothing of it. */
  readonly chroot: string;
}

const DEFAULT_PORT = 2181;

const ENDPOINT = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+))(?::(\d{1,5}))?$/;

export function endpointName({ host, port }: Endpoint): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Throws a `RangeError` or `TypeError` (`INVALID_OPTION`) that names the part that cannot be used. */
export function parseConnectString(text: string): ConnectString {
  if (typeof text !== 'string') throw invalidOption('connectString', text, '"host:port,host:port/chroot"');
  const slash = text.indexOf('/');
  const hosts = slash === -1 ? text : text.slice(0, slash);
  const chroot = slash === -1 ? '' : text.slice(slash);
  return { endpoints: parseEndpoints(hosts.split(',')), chroot: parseChroot(chroot) };
}

/** `host`, `host:port`, `[::1]` or `[::1]:port`; the port is 2181 if left out. At least one, and all different. */
export function parseEndpoints(endpoints: unknown): readonly Endpoint[] {
  if (!Array.isArray(endpoints) || endpoints.length === 0)
    throw invalidOption('endpoints', endpoints, 'an array of at least one "host:port"');
  const read = endpoints.map((endpoint: unknown) => parseEndpoint(endpoint));
  if (new Set(read.map(endpointName)).size < read.length)
    throw invalidOption('endpoints', endpoints.join(','), 'servers that differ from one another');
  return read;
}

function parseEndpoint(endpoint: unknown): Endpoint {
  const match = typeof endpoint === 'string' ? ENDPOINT.exec(endpoint) : null;
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3] ?? DEFAULT_PORT);
  if (host === undefined || port < 1 || port > 65_535)
    throw invalidOption('endpoint', endpoint, '"host" or "host:port", without a scheme, an IPv6 address in brackets');
  return { host, port };
}

function parseChroot(chroot: string): string {
  if (chroot === '' || chroot === '/') return '';
  if (chroot.split('/').slice(1).every(isNodeName)) return chroot;
  throw invalidOption('chroot', chroot, 'a path of names, each preceded by one /, none of them empty, "." or ".."');
}

// Servers refuse control characters, surrogates and what Unicode leaves to private use.
function isNodeName(name: string): boolean {
  return name !== '' && name !== '.' && name !== '..' && !/[\p{Cc}\p{Cs}\p{Co}\uFFF0-\uFFFF]/u.test(name);
}
