/** What the long-running commands `run` and `serve` share: a member id, and how a lease may end. */

import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';

import { usageError } from '../exit.ts';

/** Random, so that a restarted process does not wait for its former lease to end. */
export function newMemberId(): string {
  const host = hostname()
    .replace(/[^A-Za-z0-9.-]/g, '-')
    .slice(0, 64);
  return `${host}-${randomBytes(3).toString('hex')}`;
}

/**
 * The URL of the store for a command whose member acts for another process, which may still run
 * when this process has died: the program of `run`, a client of `serve`. SQLite ends a lease as
 * soon as its process has died, so the URL of a SQLite store turns that off.
 *
 * @throws A usage error for a store in memory.
 */
export function sharedStoreUrl(url: string): string {
  if (/^memory:/i.test(url)) throw usageError('a store in memory belongs to this process alone: no other process could take part');
  if (!/^sqlite:/i.test(url) || url.includes('endsWithProcess=')) return url;
  return `${url}${url.includes('?') ? '&' : '?'}endsWithProcess=false`;
}
