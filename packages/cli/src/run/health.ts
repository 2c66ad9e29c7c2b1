/** `GET /healthz`: whether this process does its part. To lead or not is not health; not to renew is. */

import { createServer, type Server } from 'node:http';

import type { Member } from '@incumbent/core';

import { CliError, Exit, usageError } from '../exit.ts';
import { toJson } from '../json.ts';

export interface HealthAddress {
  readonly host: string | undefined;
  readonly port: number;
}

/** `8080` for all interfaces, `127.0.0.1:8080` or `[::1]:8080` for one; port 0 takes any. */
export function parseHealthAddress(text: string): HealthAddress {
  const [, host, digits = ''] = /^(?:(.+):)?(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  if (digits === '' || port > 65_535)
    throw usageError(`--health-port is "${text}": it must be a port, or an address and a port, as 127.0.0.1:8080`);
  return { host: host?.replace(/^\[(.*)\]$/, '$1'), port };
}

export interface Health {
  readonly healthy: boolean;
  /** No lease yet or none any more, a live one, one whose renewal is overdue. */
  readonly lease: Member['state'];
}

/** What is known of a member's health, as time passes. */
export class HealthCheck {
  readonly #member: Member;
  #lastLeaseAt: number = performance.now();

  constructor(member: Member) {
    this.#member = member;
  }

  /** Without a lease for longer than a lease lives, it does not take part: others cannot count on it. */
  look(now: number = performance.now()): Health {
    const lease = this.#member.state;
    if (lease === 'live') this.#lastLeaseAt = now;
    const waits = lease === 'idle' && now - this.#lastLeaseAt <= this.#member.timing.ttlMs;
    return { healthy: lease === 'live' || waits, lease };
  }
}

export interface HealthServer {
  readonly port: number;
  close(): Promise<void>;
}

/** `facts` go into the answer beside the health. Rejects with a `CliError` where the port cannot be had. */
export async function startHealthServer(
  { host, port }: HealthAddress,
  check: () => Health,
  facts: () => Readonly<Record<string, unknown>>,
): Promise<HealthServer> {
  const server = createServer((request, response) => {
    const known = request.url?.split('?')[0] === '/healthz' && (request.method === 'GET' || request.method === 'HEAD');
    const { healthy, ...rest } = check();
    response.writeHead(known ? (healthy ? 200 : 503) : 404, { 'content-type': 'application/json', 'cache-control': 'no-store' });
    response.end(known && request.method === 'GET' ? `${toJson({ healthy, ...rest, ...facts() })}\n` : '');
  });
  await listening(server, host, port);
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    close: async () => {
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      server.closeAllConnections();
      await closed;
    },
  };
}

function listening(server: Server, host: string | undefined, port: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', (cause) =>
    reject(new CliError(Exit.RUN_FAILED, `--health-port ${port} cannot be listened on: ${cause.message}`, { cause })),
  );
  server.listen({ port, ...(host === undefined ? {} : { host }) }, resolve);
  return promise;
}
