/** The end of leases whose process has died, by another process: loaded there by its URL. */

import type { OpenRevoker } from '@incumbent/core';
import { optionsIn } from '@incumbent/network';

import { clientOf } from './client/client.ts';
import { revokeLease } from './leases.ts';
import { readOptions, type EtcdOptions } from './options.ts';

export const openRevoker: OpenRevoker = async (access) => {
  const client = clientOf(await readOptions(optionsIn<EtcdOptions>(access)));
  // Of etcd's leases the id is all that it takes.
  return { revoke: (lease, options) => revokeLease(client, lease, options), close: () => client.close() };
};
