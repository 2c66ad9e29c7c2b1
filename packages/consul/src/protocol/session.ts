/**
 * Requests about sessions. The keys that a session has locked are deleted when the session ends.
 */

import type { AttemptOptions, CallTime } from '@incumbent/network';

import { afterWriting, sessionRemains } from '../errors.ts';
import { unexpectedStatus, type Client } from '../client/client.ts';
import { fields, items, parse, text } from './json.ts';
import { CONSISTENT } from './kv.ts';

/** The longest ttl of a session. */
export const MAX_TTL_MS = 86_400_000;

/**
 * How often {@link destroySession} sends its request. A server that knows the session ends it at
 * the first one.
 */
const MAX_TRIES = 3;

export interface SessionRequest {
  /** Shown by Consul's own tools. */
  readonly name: string;
  readonly ttlMs: number;
  /** How long no other session can lock the keys after the servers have ended this session. */
  readonly lockDelayMs: number;
  /** The id of a service's check. The session ends when the check turns critical. */
  readonly check: string | undefined;
  /** The check's namespace of Consul Enterprise. */
  readonly namespace: string | undefined;
}

/** Returns the session's id. The session belongs to the agent's node. */
export async function createSession(client: Client, request: SessionRequest, options: AttemptOptions): Promise<string> {
  const { name, ttlMs, lockDelayMs, check, namespace } = request;
  const body = JSON.stringify({
    Name: name,
    TTL: `${ttlMs}ms`,
    Behavior: 'delete',
    // With its unit: some versions take a plain 0 for a missing field, whose default is 15 s.
    LockDelay: `${lockDelayMs}ms`,
    // Without serfHealth, which would end the session when gossip suspects the agent.
    NodeChecks: [],
    ServiceChecks: check === undefined ? [] : [{ ID: check, Namespace: namespace }],
  });
  const response = await client.request({ method: 'PUT', path: '/v1/session/create', body }, options);
  return text(fields(parse(response.text)), 'ID');
}

/** Returns false if the responding server does not know the session. */
export async function renewSession(client: Client, id: string, options: AttemptOptions): Promise<boolean> {
  const response = await client.request({ method: 'PUT', path: `/v1/session/renew/${id}`, accept: [404], urgent: true }, options);
  return response.status === 200;
}

/**
 * Ends a session; its keys are deleted in the same step. Succeeds as well if the session has ended
 * already.
 *
 * The servers end a session that they know by consensus. A server that does not know the session,
 * perhaps because it has just started, responds at once, with an error or with a success. A
 * linearizable read therefore confirms that the session is gone.
 */
export async function destroySession(client: Client, id: string, time: CallTime): Promise<void> {
  await requestDestroy(client, id, time.left);
  try {
    for (let tries = 1; await exists(client, id, time.left); tries += 1) {
      if (tries >= MAX_TRIES) throw sessionRemains(id);
      await requestDestroy(client, id, time.left);
    }
  } catch (error) {
    throw afterWriting(error, 'end of a session');
  }
}

async function requestDestroy(client: Client, id: string, options: AttemptOptions): Promise<void> {
  const response = await client.request({ method: 'PUT', path: `/v1/session/destroy/${id}`, accept: [500] }, options);
  // With ACLs, a server must know the session to find the rules of its node.
  if (response.status !== 200 && !/Unknown session/.test(response.text)) throw unexpectedStatus(response);
}

async function exists(client: Client, id: string, options: AttemptOptions): Promise<boolean> {
  const response = await client.request({ method: 'GET', path: `/v1/session/info/${id}`, query: CONSISTENT }, options);
  return items(parse(response.text)).length > 0;
}

export function isSessionId(id: string): boolean {
  return /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id);
}
