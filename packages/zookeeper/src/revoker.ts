/** The end of leases whose process has died, by another process: loaded there by its URL. */

import type { OpenRevoker } from '@incumbent/core';
import { invalidSecret } from '@incumbent/core/adapter';
import { optionsIn } from '@incumbent/network';

import { clientOptionsOf } from './connect.ts';
import { toStoreError } from './errors.ts';
import { readOptions, type ZookeeperOptions } from './options.ts';
import { endSession } from './client/end-session.ts';
import { ExchangeError } from './connection/failure.ts';
import type { SessionIdentity } from './connection/handshake.ts';

/** Of ZooKeeper's sessions whoever has id and password is the owner: it takes the session over, and closes it. */
export const openRevoker: OpenRevoker = async (access) => {
  const options = clientOptionsOf(await readOptions(optionsIn<ZookeeperOptions>(access)));
  return {
    revoke: async (ticket, call) => {
      try {
        await endSession(options, readTicket(ticket), call);
      } catch (error) {
        throw error instanceof ExchangeError ? toStoreError(error, 'revokeLease') : error;
      }
    },
    // Every revocation has a connection of its own, and ends it.
    close: async () => {},
  };
};

export function writeTicket({ id, password }: SessionIdentity): string {
  return `${id} ${Buffer.from(password).toString('hex')}`;
}

function readTicket(ticket: string): SessionIdentity {
  const [, id, password] = /^(-?\d+) ([0-9a-f]{32})$/.exec(ticket) ?? [];
  if (id === undefined || password === undefined) throw invalidSecret('ticket', ticket, "a session's id and password");
  return { id: BigInt(id), password: Buffer.from(password, 'hex') };
}
