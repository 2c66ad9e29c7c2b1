/** Where a server is. */

import { invalidOption } from '@incumbent/core';

export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

const DEFAULT_PORT = 6379;

const ENDPOINT = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+))(?::(\d{1,5}))?$/;

export function endpointName({ host, port }: Endpoint): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** `host`, `host:port`, `[::1]` or `[::1]:port`; the port is 6379 if left out. At least one, and all different. */
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
