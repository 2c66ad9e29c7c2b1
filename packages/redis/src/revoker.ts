/**
 * Ends the leases of a process that has died. Another process, the reaper, loads this file by its
 * URL.
 */

import type { OpenRevoker } from '@incumbent/core';
import { optionsIn } from '@incumbent/network';

import { createClient } from './client/create-client.ts';
import { StoreCalls } from './client/store-calls.ts';
import { revokeLease } from './leases.ts';
import { keyspaceOf } from './namespace.ts';
import { readOptions, type RedisOptions } from './options.ts';

export const openRevoker: OpenRevoker = async (access) => {
  const settings = await readOptions(optionsIn<RedisOptions>(access));
  const client = createClient(settings, () => {});
  const calls = new StoreCalls(client, keyspaceOf(settings));
  return {
    revoke: (lease, options) => revokeLease(calls, lease, options),
    close: async () => client.close(),
  };
};
