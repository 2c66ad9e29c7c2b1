/**
 * TTL checks that an agent keeps. A check turns critical when nobody passes it within its ttl. The
 * agent reports the state of its checks to the servers.
 */

import type { AttemptOptions } from '@incumbent/network';

import { unexpectedStatus, type Client } from '../client/client.ts';
import { fields, optionalText, parse } from './json.ts';

/** The ids of this package's checks begin with this. */
const PREFIX = 'incumbent:';

export interface CheckRequest {
  readonly id: string;
  /** Shown by Consul's own tools. */
  readonly name: string;
  /** The check turns critical this long after it was last passed. */
  readonly ttlMs: number;
}

export function checkIdOf(unique: string): string {
  return PREFIX + unique;
}

export async function registerCheck(client: Client, { id, name, ttlMs }: CheckRequest, options: AttemptOptions): Promise<void> {
  const body = JSON.stringify({ ID: id, Name: name, TTL: `${ttlMs}ms`, Status: 'passing' });
  await client.request({ method: 'PUT', path: '/v1/agent/check/register', body }, options);
}

/** Returns false if the agent has no such check. */
export async function passCheck(client: Client, id: string, options: AttemptOptions): Promise<boolean> {
  const request = { method: 'PUT', path: pathOf('pass', id), accept: [404, 500], urgent: true } as const;
  const response = await client.request(request, options);
  const { status, text } = response;
  if (status === 200) return true;
  // The wording differs between versions.
  if (status === 404 || /does not have associated TTL|Unknown check/.test(text)) return false;
  throw unexpectedStatus(response);
}

/** Succeeds as well if the agent has no such check. */
export async function deregisterCheck(client: Client, id: string, options: AttemptOptions): Promise<void> {
  await client.request({ method: 'PUT', path: pathOf('deregister', id), accept: [404] }, options);
}

/**
 * The agent selects the checks: those of other programs may have many kB of output each. Every
 * supported version of Consul can do that (1.5 was the first).
 */
const ORPHANS = { filter: `CheckID matches "^${PREFIX}" and Status == "critical"` } as const;

/**
 * The ids of this package's checks that nobody has passed in time. The sessions that were bound to
 * them have ended.
 */
export async function findOrphans(client: Client, options: AttemptOptions): Promise<readonly string[]> {
  const { text } = await client.request({ method: 'GET', path: '/v1/agent/checks', query: ORPHANS }, options);
  const all = [...fields(parse(text))];
  return all.flatMap(([id, check]) => (id.startsWith(PREFIX) && optionalText(fields(check), 'Status') === 'critical' ? [id] : []));
}

function pathOf(verb: string, id: string): string {
  return `/v1/agent/check/${verb}/${encodeURIComponent(id)}`;
}
