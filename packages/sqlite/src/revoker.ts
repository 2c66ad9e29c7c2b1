/**
 * Ends the leases of a process that has died, and renews leases while the event loop of their
 * process is blocked. The reaper, which is another process, and a worker thread load this file by
 * its URL.
 */

import { existsSync } from 'node:fs';

import type { OpenRevoker } from '@incumbent/core';
import { invalidOption } from '@incumbent/core/adapter';

import { Calls } from './client/calls.ts';
import { Database } from './client/database.ts';
import { connector } from './client/node-sqlite.ts';
import { readHost } from './host/host.ts';
import { renewLease, revokeLease } from './leases.ts';

/** `access` is what `writeAccess` returned. The ticket of a lease is its id. */
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

/** What another process needs to end leases. `path` is the true path of the file. */
export function writeAccess(path: string): string {
  return JSON.stringify({ path });
}

function readAccess(access: string): string {
  const parsed: unknown = JSON.parse(access);
  if (typeof parsed === 'object' && parsed !== null && 'path' in parsed && typeof parsed.path === 'string') return parsed.path;
  throw invalidOption('access', parsed, 'the path of a file');
}
