/** Ends the leases of a process that died. Another process loads this module by its URL. */

import type { OpenRevoker } from '@incumbent/core';
import { invalidSecret } from '@incumbent/core/adapter';
import { optionsIn } from '@incumbent/network';

import { endSession } from './client/end-session.ts';
import { ExchangeError, toStoreError } from './errors.ts';
import { clientOptionsOf, readOptions, type ZookeeperOptions } from './options.ts';
import type { SessionIdentity } from './protocol/hello.ts';

/** Takes over the session of a lease by its id and password, and closes the session. */
export const openRevoker: OpenRevoker = async (access) => {
  const options = clientOptionsOf(readOptions(optionsIn<ZookeeperOptions>(access)));
  return {
    revoke: async (ticket, call) => {
      try {
        await endSession(options, readTicket(ticket), call);
      } catch (error) {
        throw error instanceof ExchangeError ? toStoreError(error, 'revokeLease') : error;
      }
    },
    // Each revocation opens a connection of its own, and ends it.
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
