/**
 * Instances of a service that an agent keeps, each with a TTL check of its own. A check turns
 * critical when nobody passes it within its ttl. The agent reports the state of its checks to the
 * servers.
 *
 * The check belongs to an instance of a service, and not to the agent's node: while a check of a
 * node is critical, Consul leaves all services of that node out of DNS and of queries for passing
 * instances.
 */

import type { AttemptOptions } from '@incumbent/network';

import { unexpectedStatus, type Client } from '../client/client.ts';

/** The name of the service. Its instances are the leases of all stores. */
export const SERVICE = 'incumbent';

/**
 * The agent removes an instance whose check has been critical for this long. The shortest time that
 * an agent accepts.
 */
const DEREGISTER_AFTER = '1m';

export interface ServiceRequest {
  /** The id of the instance and of its check. */
  readonly id: string;
  /** The name of the check. Shown by Consul's own tools. */
  readonly name: string;
  /** The check turns critical this long after it was last passed. */
  readonly ttlMs: number;
}

/** Makes an id that no other service of the agent has. */
export function serviceIdOf(unique: string): string {
  return `${SERVICE}:${unique}`;
}

/** Registers an instance whose check passes. */
export async function registerService(client: Client, { id, name, ttlMs }: ServiceRequest, options: AttemptOptions): Promise<void> {
  const check = { CheckID: id, Name: name, TTL: `${ttlMs}ms`, Status: 'passing', DeregisterCriticalServiceAfter: DEREGISTER_AFTER };
  const body = JSON.stringify({ ID: id, Name: SERVICE, Check: check });
  await client.request({ method: 'PUT', path: '/v1/agent/service/register', body }, options);
}

/** Passes the check of an instance. Returns false if the agent has no such check. */
export async function passCheck(client: Client, id: string, options: AttemptOptions): Promise<boolean> {
  const path = `/v1/agent/check/pass/${encodeURIComponent(id)}`;
  const response = await client.request({ method: 'PUT', path, accept: [404, 500], urgent: true }, options);
  const { status, text } = response;
  if (status === 200) return true;
  // The wording differs between versions.
  if (status === 404 || /does not have associated TTL|Unknown check/.test(text)) return false;
  throw unexpectedStatus(response);
}

/** Removes an instance and its check. Succeeds as well if the agent has no such instance. */
export async function deregisterService(client: Client, id: string, options: AttemptOptions): Promise<void> {
  const path = `/v1/agent/service/deregister/${encodeURIComponent(id)}`;
  const response = await client.request({ method: 'PUT', path, accept: [404, 500] }, options);
  // With ACLs, an agent must know the service to find its rules. Later versions respond with 404.
  if (response.status === 500 && !/Unknown service/.test(response.text)) throw unexpectedStatus(response);
}
