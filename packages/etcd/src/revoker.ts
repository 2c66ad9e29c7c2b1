/** Revokes the leases of a process that has died. Another process loads this module by its URL. */

import type { OpenRevoker } from '@incumbent/core';
import { optionsIn } from '@incumbent/network';

import { clientOf } from './client/client.ts';
import { revokeLease } from './leases.ts';
import { readOptions, type EtcdOptions } from './options.ts';

export const openRevoker: OpenRevoker = async (access) => {
  const client = clientOf(await readOptions(optionsIn<EtcdOptions>(access)));
  // To revoke a lease of etcd, its id is enough.
  return { revoke: (lease, options) => revokeLease(client, lease, options), close: () => client.close() };
};
