/** Checks that an agent keeps: each is passed again and again, or it turns critical. They are the agent's own, who tells the servers. */

import type { AttemptOptions } from '@incumbent/network';

import { unexpected, type Client } from '../client/client.ts';
import { fields, optionalText, parse } from './json.ts';

/** What checks of this package are called. */
const PREFIX = 'incumbent:';

export interface CheckRequest {
  readonly id: string;
  /** Shown by Consul's own tools. */
  readonly name: string;
  /** So long after it was last passed the check turns critical. */
  readonly ttlMs: number;
}

export function checkIdOf(unique: string): string {
  return PREFIX + unique;
}

export async function registerCheck(client: Client, { id, name, ttlMs }: CheckRequest, options: AttemptOptions): Promise<void> {
  const body = JSON.stringify({ ID: id, Name: name, TTL: `${ttlMs}ms`, Status: 'passing' });
  await client.request({ method: 'PUT', path: '/v1/agent/check/register', body }, options);
}

/** False: the agent has no such check. */
export async function passCheck(client: Client, id: string, options: AttemptOptions): Promise<boolean> {
  const answer = await client.request({ method: 'PUT', path: pathOf('pass', id), answers: [404, 500], urgent: true }, options);
  const { status, text } = answer;
  if (status === 200) return true;
  // The words of several versions.
  if (status === 404 || /does not have associated TTL|Unknown check/.test(text)) return false;
  throw unexpected(answer);
}

/** One that is gone already is no error. */
export async function deregisterCheck(client: Client, id: string, options: AttemptOptions): Promise<void> {
  await client.request({ method: 'PUT', path: pathOf('deregister', id), answers: [404] }, options);
}

/** Checks of this package that nobody has passed in time: the sessions that were bound to them are over. */
export async function findOrphans(client: Client, options: AttemptOptions): Promise<readonly string[]> {
  const { text } = await client.request({ method: 'GET', path: '/v1/agent/checks' }, options);
  const all = [...fields(parse(text))];
  return all.flatMap(([id, check]) => (id.startsWith(PREFIX) && optionalText(fields(check), 'Status') === 'critical' ? [id] : []));
}

function pathOf(verb: string, id: string): string {
  return `/v1/agent/check/${verb}/${encodeURIComponent(id)}`;
}
