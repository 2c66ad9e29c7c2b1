/** Where an agent's HTTP API is. */

import { invalidOption } from '@incumbent/core';

export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

const DEFAULT_PORT = 8500;
const DEFAULT_SECURE_PORT = 8501;

const ENDPOINT = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+))(?::(\d{1,5}))?$/;

export function endpointName({ host, port }: Endpoint): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** `host`, `host:port`, `[::1]` or `[::1]:port`; the port is 8500 if left out, with TLS 8501. */
export function parseEndpoint(endpoint: unknown, secure: boolean): Endpoint {
  const match = typeof endpoint === 'string' ? ENDPOINT.exec(endpoint) : null;
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3] ?? (secure ? DEFAULT_SECURE_PORT : DEFAULT_PORT));
  if (host === undefined || port < 1 || port > 65_535)
    throw invalidOption('endpoint', hidden(endpoint), 'one "host" or "host:port", without a scheme, an IPv6 address in brackets');
  return { host, port };
}

/** A URL in an endpoint's place may have a token in it. */
function hidden(endpoint: unknown): unknown {
  return typeof endpoint === 'string' && endpoint.includes('@') ? '…' : endpoint;
}

/** Whether this machine itself is meant. */
export function isLoopback({ host }: Endpoint): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host);
}
