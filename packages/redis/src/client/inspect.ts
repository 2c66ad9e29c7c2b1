/** What a server tells of itself. */

import type { StoreReport } from '@incumbent/core';

import { bytesOf, listOf, textOf } from '../namespace.ts';
import type { Connection } from './connection.ts';

/** `localMs`: this process's wall clock. */
export async function inspect(connection: Connection, localMs: () => number): Promise<StoreReport> {
  const info = textOf(bytesOf(await connection.request(['INFO'])));
  const sent = localMs();
  const [seconds = '', micros = ''] = listOf(await connection.request(['TIME'])).map((part) => textOf(bytesOf(part)));
  const withinMs = (localMs() - sent) / 2;
  const aheadMs = Number(seconds) * 1e3 + Number(micros) / 1e3 - (sent + withinMs);
  return { version: versionIn(info), clock: { aheadMs, withinMs }, warnings: warningsIn(info) };
}

function versionIn(info: string): string {
  const valkey = field(info, 'valkey_version');
  return valkey === undefined ? (field(info, 'redis_version') ?? 'of an unknown version') : `(Valkey ${valkey})`;
}

export function warningsIn(info: string): readonly string[] {
  const warnings: string[] = [];
  const replicas = Number(field(info, 'connected_slaves') ?? 0);
  if (replicas > 0)
    warnings.push(
      `it has ${replicas} replicas, and acknowledges writes before they have them: a failover may forget a leader, or take one back`,
    );
  if (field(info, 'aof_enabled') === '0')
    warnings.push('it writes no append-only file: after a restart it may have forgotten leases and terms that it had acknowledged');
  return warnings;
}

function field(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:(\\S+)`, 'm').exec(info)?.[1];
}
