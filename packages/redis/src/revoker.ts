/**
 * Ends the leases of a process that has died, and renews leases while the event loop of their
 * process is blocked. The reaper, which is another process, and a worker thread load this file by
 * its URL.
 */

import type { OpenRevoker } from '@incumbent/core';
import { optionsIn } from '@incumbent/network';

import { createClient } from './client/create-client.ts';
import { StoreCalls } from './client/store-calls.ts';
import { renewLease, revokeLease } from './leases.ts';
import { keyspaceOf } from './namespace.ts';
import { readOptions, type RedisOptions } from './options.ts';

export const openRevoker: OpenRevoker = async (access) => {
  const settings = readOptions(optionsIn<RedisOptions>(access));
  const client = createClient(settings, () => {});
  const calls = new StoreCalls(client, keyspaceOf(settings));
  return {
    revoke: (lease, options) => revokeLease(calls, lease, options),
    renew: (lease, options) => renewLease(calls, lease, options),
    close: async () => client.close(),
  };
};
