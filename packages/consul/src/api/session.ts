/** Sessions: what keys live by. */

import type { AttemptOptions } from '../http/attempt.ts';
import type { Client } from '../http/client.ts';
import { fields, parse, text } from './json.ts';

/** The longest that servers grant. */
export const MAX_TTL_MS = 86_400_000;

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
  const answer = await client.request({ method: 'PUT', path: `/v1/session/renew/${id}`, answers: [404] }, options);
  return answer.status === 200;
}

/** Ends it, by the agreement of a quorum; every key that it holds goes in the same step. One that is gone already is no error. */
export async function destroySession(client: Client, id: string, options: AttemptOptions): Promise<void> {
  await client.request({ method: 'PUT', path: `/v1/session/destroy/${id}` }, options);
}

export function isSessionId(id: string): boolean {
  return /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id);
}
