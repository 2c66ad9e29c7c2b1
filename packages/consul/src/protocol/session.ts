/** Sessions: what keys live by. */

import { StoreError } from '@incumbent/core/adapter';
import type { AttemptOptions, CallTime } from '@incumbent/network';

import { afterwards } from '../errors.ts';
import { unexpected, type Client } from '../client/client.ts';
import { fields, items, parse, text } from './json.ts';
import { CONSISTENT } from './kv.ts';

/** The longest that servers grant. */
export const MAX_TTL_MS = 86_400_000;

/** A server that has said by a consistent read that it knows a session ends it when it is asked to. */
const MAX_TRIES = 3;

export interface SessionRequest {
  /** Shown by Consul's own tools. */
  readonly name: string;
  readonly ttlMs: number;
  /** How long the keys of a session that was ended by the servers cannot be held by another. */
  readonly lockDelayMs: number;
  /** The session ends when this check of the agent's turns critical. */
  readonly check: string | undefined;
}

/** The id. The agent puts its own node's name to it. */
export async function createSession(client: Client, request: SessionRequest, options: AttemptOptions): Promise<string> {
  const { name, ttlMs, lockDelayMs, check } = request;
  const body = JSON.stringify({
    Name: name,
    TTL: `${ttlMs}ms`,
    Behavior: 'delete',
    // As text: a bare 0 is taken for no answer by some clients, and then for 15 s.
    LockDelay: `${lockDelayMs}ms`,
    // In place of serfHealth, by which the session would end when gossip suspects the agent.
    NodeChecks: check === undefined ? [] : [check],
  });
  const answer = await client.request({ method: 'PUT', path: '/v1/session/create', body }, options);
  return text(fields(parse(answer.text)), 'ID');
}

/** False: the server that answered knows no such session. */
export async function renewSession(client: Client, id: string, options: AttemptOptions): Promise<boolean> {
  const answer = await client.request({ method: 'PUT', path: `/v1/session/renew/${id}`, answers: [404], urgent: true }, options);
  return answer.status === 200;
}

/**
 * Ends it; every key that it holds goes in the same step. One that is gone already is no error. Servers end one that they know by the agreement of a quorum;
 * of one that they do not know, which may be news to them, they say so at once, as an error or as a success. So a consistent read tells whether it is gone.
 */
export async function destroySession(client: Client, id: string, time: CallTime): Promise<void> {
  await askToDestroy(client, id, time.left);
  try {
    for (let tries = 1; await isThere(client, id, time.left); tries += 1) {
      if (tries >= MAX_TRIES) throw new StoreError('UNAVAILABLE', 'unknown', `consul: the session ${id} is still there after it was ended`);
      await askToDestroy(client, id, time.left);
    }
  } catch (error) {
    throw afterwards(error, 'end of a session');
  }
}

async function askToDestroy(client: Client, id: string, options: AttemptOptions): Promise<void> {
  const answer = await client.request({ method: 'PUT', path: `/v1/session/destroy/${id}`, answers: [500] }, options);
  // Where there are access rules, which are those of the session's node.
  if (answer.status !== 200 && !/Unknown session/.test(answer.text)) throw unexpected(answer);
}

async function isThere(client: Client, id: string, options: AttemptOptions): Promise<boolean> {
  const answer = await client.request({ method: 'GET', path: `/v1/session/info/${id}`, query: CONSISTENT }, options);
  return items(parse(answer.text)).length > 0;
}

export function isSessionId(id: string): boolean {
  return /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id);
}
