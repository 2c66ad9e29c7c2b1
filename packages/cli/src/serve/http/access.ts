/**
 * Who may send requests. Listening on loopback or on a Unix socket, the server serves the machine's
 * own processes. Elsewhere it needs a token, or certificates of its clients. A web page must not be
 * able to use the server through the browser of somebody on this machine: the sidecar gives
 * browsers nothing, and `incumbent ui` gives its data only to its own page.
 */

import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';

import { ApiError } from '../api-error.ts';

export interface AccessRules {
  /** Whether the server listens on loopback or on a Unix socket. */
  readonly isLocal: boolean;
  /** The token that every request must carry. */
  readonly token?: string;
  /**
   * The paths of the server's own page, which contain no data: any browser gets them, without a
   * token. Absent if the server has no page.
   */
  readonly page?: ReadonlySet<string>;
}

/**
 * Paths that need no token, as the probes of Kubernetes have none. They tell nothing of a value.
 */
const OPEN_PATHS: ReadonlySet<string> = new Set(['/healthz', '/readyz']);

/** @throws `FORBIDDEN` or `UNAUTHORIZED`. */
export function checkAccess({ isLocal, token, page }: AccessRules, request: IncomingMessage, path: string): void {
  const { host, authorization } = request.headers;
  const isPage = page?.has(path) === true && isRead(request);
  if (page === undefined) refuseBrowsers(request);
  else if (!isPage) checkOrigin(request);
  // Against DNS rebinding: a name of somebody else's may lead to 127.0.0.1.
  if (isLocal && !isLoopbackHost(hostnameOf(host)))
    throw new ApiError('FORBIDDEN', 'the header "host" must be localhost or an address of loopback');
  if (token === undefined || isPage || OPEN_PATHS.has(path)) return;
  const given = /^Bearer (.+)$/.exec(authorization ?? '')?.[1];
  if (given === undefined || !timingSafeEqual(digest(given), digest(token)))
    throw new ApiError('UNAUTHORIZED', 'the request needs the header "authorization: Bearer" with the token of this server');
}

/** Browsers send Origin with every request that changes something, and Sec-Fetch-Site with all. */
function refuseBrowsers({ headers }: IncomingMessage): void {
  if (headers.origin !== undefined || headers['sec-fetch-site'] !== undefined)
    throw new ApiError('FORBIDDEN', 'the sidecar does not serve browsers');
}

/**
 * Admits only requests of the page that this server has sent. A request that changes something must
 * prove its origin; a program without one, such as curl, can only read.
 */
function checkOrigin(request: IncomingMessage): void {
  const { host, origin, 'sec-fetch-site': site } = request.headers;
  const isTls = 'encrypted' in request.socket;
  const isOwn = origin === `${isTls ? 'https' : 'http'}://${host}`;
  if (origin !== undefined ? !isOwn : !isRead(request))
    throw new ApiError('FORBIDDEN', 'the request must come from the page of this server');
  if (site !== undefined && site !== 'same-origin' && site !== 'none')
    throw new ApiError('FORBIDDEN', 'the request comes from the page of another server');
}

function isRead({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD';
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
