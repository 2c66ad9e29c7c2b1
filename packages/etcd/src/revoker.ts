/**
 * Ends the leases of a process that has died, and renews leases while the event loop of their
 * process is blocked. The reaper, which is another process, and a worker thread load this file by
 * its URL.
 */

import type { OpenRevoker } from '@incumbent/core';
import { optionsIn } from '@incumbent/network';

import { clientOf } from './client/client.ts';
import { renewLease, revokeLease } from './leases.ts';
import { readOptions, type EtcdOptions } from './options.ts';

export const openRevoker: OpenRevoker = async (access) => {
  const client = clientOf(readOptions(optionsIn<EtcdOptions>(access)));
  // The id of a lease of etcd is enough to revoke or renew it.
  return {
    revoke: (lease, options) => revokeLease(client, lease, options),
    renew: (lease, options) => renewLease(client, lease, options),
    close: () => client.close(),
  };
};
