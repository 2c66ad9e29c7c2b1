/**
 * Ends the leases of a process that has died, and renews leases while the event loop of their
 * process is blocked. The reaper, which is another process, and a worker thread load this file by
 * its URL.
 */

import type { OpenRevoker } from '@incumbent/core';
import { optionsIn } from '@incumbent/network';

import { renewLease, revokeLease } from './leases.ts';
import { createCalls } from './open.ts';
import { type PostgresOptions, readOptions } from './options.ts';

export const openRevoker: OpenRevoker = async (access) => {
  const calls = createCalls(readOptions(optionsIn<PostgresOptions>(access)));
  return {
    revoke: (lease, options) => revokeLease(calls, lease, options),
    renew: (lease, options) => renewLease(calls, lease, options),
    close: () => calls.client.close(),
  };
};
