/**
 * Ends the leases of a process that has died. Another process, the reaper, loads this file by its
 * URL.
 */

import type { LeaseId, OpenRevoker } from '@incumbent/core';
import { invalidSecret } from '@incumbent/core/adapter';
import { CallTime, optionsIn } from '@incumbent/network';

import { Client } from './client/client.ts';
import { ExchangeError } from './client/failure.ts';
import { toStoreError } from './errors.ts';
import { readOptions, type ConsulOptions } from './options.ts';
import { fields, optionalText, parse, text } from './protocol/json.ts';
import { deregisterService } from './protocol/service.ts';
import { destroySession, isSessionId } from './protocol/session.ts';

export interface Ticket {
  readonly lease: LeaseId;
  /**
   * The service with the check that the session is bound to, if there is one. The dead process can
   * no longer remove it.
   */
  readonly service: string | undefined;
}

export const openRevoker: OpenRevoker = async (access) => {
  const settings = readOptions(optionsIn<ConsulOptions>(access));
  const client = new Client(settings);
  return {
    revoke: async (ticket, options) => {
      const { lease, service } = readTicket(ticket);
      const time = new CallTime(settings.clock, options, ExchangeError);
      try {
        await destroySession(client, lease, time);
        if (service !== undefined) await removeService(client, service, time);
      } catch (error) {
        throw options.signal?.aborted === true && error === options.signal.reason ? error : toStoreError(error, 'revokeLease');
      }
    },
    close: () => client.close(),
  };
};

/**
 * Tries to remove the service of a session that is gone. The check of a service that remains turns
 * critical, and the agent removes the service a minute later.
 */
async function removeService(client: Client, service: string, time: CallTime): Promise<void> {
  try {
    await deregisterService(client, service, time.left);
  } catch {
    // The session is gone all the same. There may also be no time left.
  }
}

export function writeTicket(ticket: Ticket): string {
  return JSON.stringify(ticket);
}

function readTicket(ticket: string): Ticket {
  const parsed = fields(parse(ticket));
  const lease = text(parsed, 'lease');
  if (!isSessionId(lease)) throw invalidSecret('ticket', lease, "a session's id");
  const service = optionalText(parsed, 'service');
  return { lease, service: service === '' ? undefined : service };
}
