/** The HTTP server of `run --health-port`. Health does not depend on who leads. */

import { createServer, type Server } from 'node:http';

import { describeHidden } from '@incumbent/core/adapter';
import type { Monitor, Problem } from 'incumbent/monitor';

import { limitConnections } from '../common/connections.ts';
import { CliError, Exit, usageError } from '../exit.ts';
import { toJson } from '../common/json.ts';
import type { Readiness } from './readiness.ts';

export interface HealthAddress {
  readonly host: string | undefined;
  readonly port: number;
}

/** Parses `8080` (all interfaces), `127.0.0.1:8080` or `[::1]:8080`. Port 0 takes any free port. */
export function parseHealthAddress(text: string): HealthAddress {
  const [, host, digits = ''] = /^(?:([^@/]+):)?(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  if (digits === '' || port > 65_535)
    throw usageError(`--health-port is ${describeHidden(text)}: it must be a port, or an address and a port such as 127.0.0.1:8080`);
  return { host: host?.replace(/^\[(.*)\]$/, '$1'), port };
}

/** The response at one path. */
export interface Page {
  /** Status 200 if true, 503 if false. */
  readonly ok: boolean;
  readonly contentType: string;
  readonly text: string;
}

export interface HealthServer extends AsyncDisposable {
  readonly port: number;
}

/** The most connections. Those of a few probes and scrapers are enough. */
const MAX_CONNECTIONS = 256;

/**
 * Calls the path's function for every request, and `refused` when there are too many connections.
 * Rejects with a `CliError` if it cannot listen on the port.
 */
export async function startHealthServer(
  { host, port }: HealthAddress,
  pages: Readonly<Record<string, () => Page>>,
  refused: (message: string) => void,
): Promise<HealthServer> {
  const server = createServer((request, response) => {
    const path = request.url?.split('?')[0] ?? '';
    const page = request.method === 'GET' || request.method === 'HEAD' ? new Map(Object.entries(pages)).get(path)?.() : undefined;
    const status = page === undefined ? 404 : page.ok ? 200 : 503;
    response.writeHead(status, { 'content-type': page?.contentType ?? 'text/plain', 'cache-control': 'no-store' });
    response.end(request.method === 'HEAD' ? '' : page?.text);
  });
  limitConnections(server, MAX_CONNECTIONS, refused);
  await listening(server, host, port);
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      server.closeAllConnections();
      await closed;
    },
  };
}

/**
 * The pages of `run`: `/healthz` for liveness probes, `/readyz` for whether it takes part in the
 * election (it has a lease) and why not, `/metrics` for Prometheus. They work before the store is
 * open, too: a liveness probe must not restart a process that waits for its store. `/healthz` lists
 * all problems, and fails only for those that `isFatal` names.
 */
export function pagesOf(
  monitor: Monitor,
  readiness: Readiness,
  facts: () => Readonly<Record<string, unknown>>,
  isFatal: (problem: Problem) => boolean = () => true,
): Readonly<Record<string, () => Page>> {
  const page = (ok: boolean, fields: Readonly<Record<string, unknown>>): Page => {
    return { ok, contentType: 'application/json', text: `${toJson({ ...fields, lease: readiness.lease, ...facts() })}\n` };
  };
  return {
    '/healthz': () => {
      const { problems } = monitor.health();
      const healthy = !problems.some(isFatal);
      return page(healthy, { healthy, problems });
    },
    '/readyz': () => {
      const { reason } = readiness;
      return page(reason === undefined, { ready: reason === undefined, ...(reason === undefined ? {} : { reason }) });
    },
    '/metrics': () => ({ ok: true, contentType: monitor.contentType, text: monitor.prometheus() }),
  };
}

function listening(server: Server, host: string | undefined, port: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  // The listener stays: a later error, such as a connection that cannot be accepted, must not crash
  // this process and end the program.
  server.on('error', (cause) =>
    reject(new CliError(Exit.RUN_FAILED, `cannot listen on --health-port ${port}: ${cause.message}`, { cause })),
  );
  server.listen({ port, ...(host === undefined ? {} : { host }) }, resolve);
  return promise;
}
