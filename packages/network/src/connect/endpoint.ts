/** The address of a server. */

import { invalidSecret, invalidText, showUrl } from '@incumbent/core/adapter';

/** The host and the port of one server. */
export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

const ENDPOINT = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+))(?::(\d{1,5}))?$/;

/** The endpoint as `host:port`. An IPv6 address is in brackets. */
export function endpointName({ host, port }: Endpoint): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Whether the host is this machine. */
export function isLoopback({ host }: Endpoint): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host);
}

/**
 * Parses `host`, `host:port`, `[::1]` or `[::1]:port`.
 *
 * @throws `TypeError` or `RangeError` with the code `INVALID_OPTION`, which names the option
 * `endpoint`.
 */
export function parseEndpoint(endpoint: unknown, defaultPort: number): Endpoint {
  const match = typeof endpoint === 'string' ? ENDPOINT.exec(endpoint) : null;
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3] ?? defaultPort);
  if (host === undefined || port < 1 || port > 65_535)
    throw invalidSecret(
      'endpoint',
      endpoint,
      '"host" or "host:port", without a scheme, an IPv6 address in brackets',
      shownEndpoint(endpoint),
    );
  return { host, port };
}

/**
 * Parses a list of at least one endpoint, without duplicates.
 *
 * @throws `TypeError` or `RangeError` with the code `INVALID_OPTION`.
 */
export function parseEndpoints(endpoints: unknown, defaultPort: number): readonly Endpoint[] {
  if (!Array.isArray(endpoints) || endpoints.length === 0)
    throw invalidSecret('endpoints', endpoints, 'an array of at least one "host:port"');
  const read = endpoints.map((endpoint: unknown) => parseEndpoint(endpoint, defaultPort));
  if (new Set(read.map(endpointName)).size < read.length)
    throw invalidText('endpoints', endpoints.join(','), 'servers that differ from one another');
  return read;
}

/** The list from this index on, followed by what is in front of the index. */
export function startingAt<T>(list: readonly T[], index: number): readonly T[] {
  return [...list.slice(index), ...list.slice(0, index)];
}

/** By mistake an endpoint may be a URL, or a part of a URL: both may contain a password. */
function shownEndpoint(endpoint: unknown): string | undefined {
  return typeof endpoint === 'string' ? showUrl(endpoint) : undefined;
}
