/**
 * Ends the leases of a process that has died. Another process, the reaper, loads this file by its
 * URL.
 */

import type { LeaseId, OpenRevoker } from '@incumbent/core';
import { invalidSecret } from '@incumbent/core/adapter';
import { CallTime, optionsIn } from '@incumbent/network';

import { Client } from './client/client.ts';
import { ExchangeError } from './client/failure.ts';
import { afterWriting, toStoreError } from './errors.ts';
import { KeyObject } from './keys/key-object.ts';
import { LeaseObjects } from './lease-objects.ts';
import { readLeaseId } from './names.ts';
import { readOptions, type KubernetesOptions } from './options.ts';

export const openRevoker: OpenRevoker = async (access) => {
  const settings = await readOptions(optionsIn<KubernetesOptions>(access));
  const client = new Client(settings);
  const keys = new KeyObject(client, settings.clock, settings.names);
  const objects = new LeaseObjects(client, settings.names);
  return {
    revoke: async (ticket, options) => {
      const name = readLeaseId(ticket);
      if (name === undefined) throw invalidSecret('ticket', ticket, 'the id of a lease');
      const time = new CallTime(settings.clock, options, ExchangeError);
      try {
        // Deletes the lease first, as an observer does. The holder deletes the keys first, but it
        // knows that it binds no more of them. Here the holder may still live and bind keys.
        await objects.delete(name.name, { uid: name.uid }, time.left);
        await deleteKeys(keys, ticket, time);
      } catch (error) {
        throw options.signal?.aborted === true && error === options.signal.reason ? error : toStoreError(error, 'revokeLease');
      }
    },
    close: () => client.close(),
  };
};

/** After the deletion of the lease, so no outcome is less than unknown. */
async function deleteKeys(keys: KeyObject, lease: LeaseId, time: CallTime): Promise<void> {
  try {
    await keys.change((draft) => ({ result: draft.deleteBoundTo(lease), needsFresh: false }), time.left);
  } catch (error) {
    throw afterWriting(error, 'revokeLease');
  }
}
