/** What the long-running commands `run` and `serve` share: a member id, and how a lease may end. */

import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';

/** Random, so that a restarted process does not wait for its former lease to end. */
export function newMemberId(): string {
  const host = hostname()
    .replace(/[^A-Za-z0-9.-]/g, '-')
    .slice(0, 64);
  return `${host}-${randomBytes(3).toString('hex')}`;
}

/**
 * SQLite ends a lease as soon as its process has died. But the work that leads is in another
 * process, which may still run then: the program of `run`, a client of `serve`.
 */
export function withoutExitDetection(url: string): string {
  if (!url.startsWith('sqlite:') || url.includes('endsWithProcess=')) return url;
  return `${url}${url.includes('?') ? '&' : '?'}endsWithProcess=false`;
}
