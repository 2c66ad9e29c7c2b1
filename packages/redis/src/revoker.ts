/** The end of leases whose process has died, by another process: loaded there by its URL. */

import type { OpenRevoker } from '@incumbent/core';
import { optionsIn } from '@incumbent/network';

import { clientOf, namesOf } from './client/connect.ts';
import { toStoreError } from './errors.ts';
import { readOptions, type RedisOptions } from './options.ts';
import { revoke } from './scripts/leases.ts';
import { run } from './scripts/script.ts';

export const openRevoker: OpenRevoker = async (access) => {
  const settings = await readOptions(optionsIn<RedisOptions>(access));
  const { tag, channel } = namesOf(settings);
  const client = clientOf(settings, () => {});
  return {
    revoke: async (lease, options) => {
      try {
        await client.call((connection, over) => run(connection, revoke, tag, [channel, lease], over), options);
      } catch (error) {
        throw options.signal?.aborted === true && error === options.signal.reason ? error : toStoreError(error, 'revokeLease');
      }
    },
    close: async () => client.close(),
  };
};
