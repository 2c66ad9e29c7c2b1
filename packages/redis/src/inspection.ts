/** What a server reports about itself, for the store's `inspect`. */

import type { StoreReport } from '@incumbent/core';

import type { Connection } from './client/connection.ts';
import { bytesOf, listOf, textOf } from './protocol/replies.ts';
import type { Reply } from './protocol/resp.ts';

/** `wallMs` reads this process's wall clock. Rejects with an `ExchangeError`. */
export async function inspect(connection: Connection, wallMs: () => number): Promise<StoreReport> {
  const info = await connection.request(['INFO'], (reply) => textOf(bytesOf(reply)));
  const sentAtMs = wallMs();
  const serverMs = await connection.request(['TIME'], timeIn);
  const withinMs = (wallMs() - sentAtMs) / 2;
  const aheadMs = serverMs - (sentAtMs + withinMs);
  return { version: versionIn(info), clock: { aheadMs, withinMs }, warnings: warningsIn(info) };
}

/** The answer to TIME, in ms since 1970. */
function timeIn(reply: Reply): number {
  const [seconds, micros] = listOf(reply);
  return Number(textOf(bytesOf(seconds))) * 1e3 + Number(textOf(bytesOf(micros))) / 1e3;
}

function versionIn(info: string): string {
  const valkey = fieldIn(info, 'valkey_version');
  return valkey === undefined ? (fieldIn(info, 'redis_version') ?? 'of an unknown version') : `(Valkey ${valkey})`;
}

/** From the answer to INFO. */
export function warningsIn(info: string): readonly string[] {
  const warnings: string[] = [];
  const replicas = Number(fieldIn(info, 'connected_slaves') ?? 0);
  if (replicas > 0)
    warnings.push(
      `it has ${replicas} replicas, and acknowledges writes before they have them: a failover may forget a leader, or bring a former one back`,
    );
  if (fieldIn(info, 'aof_enabled') === '0')
    warnings.push('it writes no append-only file: a restart may lose leases and terms that it had acknowledged');
  return warnings;
}

function fieldIn(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:(\\S+)`, 'm').exec(info)?.[1];
}
