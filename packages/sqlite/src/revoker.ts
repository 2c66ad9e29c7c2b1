/** The end of leases whose process has died, by another process: loaded there by its URL. */

import { existsSync } from 'node:fs';

import type { OpenRevoker } from '@incumbent/core';
import { invalidOption } from '@incumbent/core/adapter';

import { Attempts } from './client/calls.ts';
import { connector } from './client/connection.ts';
import { Database } from './client/database.ts';
import { readHost } from './host/host.ts';
import { revokeLease } from './leases.ts';

/** Of this host's leases the id is all that it takes, and the file. */
export const openRevoker: OpenRevoker = async (access) => {
  const path = readAccess(access);
  const database = new Database(path, readHost(), await connector());
  const attempts = new Attempts(path);
  return {
    revoke: (lease, options) =>
      attempts.run(() => {
        // Whoever has removed the file has ended its leases; to open it would make another.
        if (existsSync(path)) revokeLease(database, lease);
      }, options),
    close: async () => {
      attempts.close();
      database.close();
    },
  };
};

/** For another process: `path` is the file's true and absolute one. */
export function writeAccess(path: string): string {
  return JSON.stringify({ path });
}

function readAccess(access: string): string {
  const told: unknown = JSON.parse(access);
  if (typeof told === 'object' && told !== null && 'path' in told && typeof told.path === 'string') return told.path;
  throw invalidOption('access', told, 'the path of a file');
}
