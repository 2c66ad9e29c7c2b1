/**
 * Ends the leases of a process that has died, and renews leases while the event loop of their
 * process is blocked. The reaper, which is another process, and a worker thread load this file by
 * its URL.
 */

import { existsSync } from 'node:fs';

import type { OpenRevoker, Revocation } from '@incumbent/core';
import { invalidOption, moduleBeside } from '@incumbent/core/adapter';

import { Calls } from './client/calls.ts';
import { Database } from './client/database.ts';
import { connector } from './client/node-sqlite.ts';
import { readHost } from './host/host.ts';
import { renewLease, revokeLease } from './leases.ts';

/** `access` is that of `fileRevocation`. The ticket of a lease is its id. */
export const openRevoker: OpenRevoker = async (access) => {
  const path = readAccess(access);
  const database = new Database(path, readHost(), await connector());
  const calls = new Calls(database);
  return {
    revoke: (lease, options) =>
      calls.run(() => {
        // Removing the file has ended its leases. Opening it would create a new file.
        if (existsSync(path)) revokeLease(database, lease);
      }, options),
    renew: (lease, options) => renewLease(calls, lease, options),
    close: async () => {
      calls.close();
      database.close();
    },
  };
};

/**
 * How another process ends leases of the database at `path`, which is the true path of the file.
 * `url` is that of a module in this folder; undefined in a CommonJS bundle, where no other process
 * can load this file.
 */
export function fileRevocation(url: string | undefined, path: string): Revocation | undefined {
  if (url === undefined) return undefined;
  return { module: moduleBeside(url, 'revoker'), access: JSON.stringify({ path }), renews: true, ticketOf: (lease) => lease };
}

function readAccess(access: string): string {
  const parsed: unknown = JSON.parse(access);
  if (typeof parsed === 'object' && parsed !== null && 'path' in parsed && typeof parsed.path === 'string') return parsed.path;
  throw invalidOption('access', parsed, 'the path of a file');
}
