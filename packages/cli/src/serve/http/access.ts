/**
 * Who may send requests. Listening on loopback or on a Unix socket, the sidecar serves the machine's
 * own processes. Elsewhere it needs a token, or certificates of its clients. A browser gets nothing:
 * a web page must not be able to use the sidecar through the browser of somebody on this machine.
 */

import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';

import { ApiError } from '../api-error.ts';

export interface AccessRules {
  /** Whether the sidecar listens on loopback or on a Unix socket. */
  readonly isLocal: boolean;
  /** The token that every request must carry. */
  readonly token?: string;
}

/** Paths that need no token, as the probes of Kubernetes have none. They tell nothing of a value. */
const OPEN_PATHS: ReadonlySet<string> = new Set(['/healthz', '/readyz']);

/** @throws `FORBIDDEN` or `UNAUTHORIZED`. */
export function checkAccess({ isLocal, token }: AccessRules, request: IncomingMessage, path: string): void {
  const { host, origin, authorization } = request.headers;
  // Browsers send Origin with every request that changes something, and Sec-Fetch-Site with all.
  if (origin !== undefined || request.headers['sec-fetch-site'] !== undefined)
    throw new ApiError('FORBIDDEN', 'the sidecar does not serve browsers');
  // Against DNS rebinding: a name of somebody else's may lead to 127.0.0.1.
  if (isLocal && !isLoopbackHost(hostnameOf(host)))
    throw new ApiError('FORBIDDEN', 'the header "host" must be localhost or an address of loopback');
  if (token === undefined || OPEN_PATHS.has(path)) return;
  const given = /^Bearer (.+)$/.exec(authorization ?? '')?.[1];
  if (given === undefined || !timingSafeEqual(digest(given), digest(token)))
    throw new ApiError('UNAUTHORIZED', 'the request needs the header "authorization: Bearer" with the token of the sidecar');
}

/** Whether only processes of this machine can reach the address. */
export function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

function hostnameOf(host: string | undefined): string {
  return (host ?? '').replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
