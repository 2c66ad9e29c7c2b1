/** The worker thread that renews leases while the main thread's event loop is blocked. */

import { parentPort, workerData, type MessagePort } from 'node:worker_threads';

import { loadRevoker } from '@incumbent/core/adapter';

import { BlockedRenewals } from './blocked-renewals.ts';
import type { LeaseMessage, ReadyMessage, WorkerSettings } from './messages.ts';
import { now, SharedLease } from './shared-lease.ts';

/**
 * Opens the revoker, then takes the messages that have arrived meanwhile. An error ends the worker.
 */
async function run({ module, access, rules, checkEveryMs }: WorkerSettings, port: MessagePort): Promise<void> {
  const openRevoker = await loadRevoker(module);
  const { renew } = await openRevoker(access);
  if (renew === undefined) throw new TypeError('the module of the store has no renewals');
  const renewals = new BlockedRenewals(renew, rules);
  port.on('message', ({ ticket, renewEveryMs, buffer }: LeaseMessage) => {
    renewals.add({ ticket, renewEveryMs, shared: new SharedLease(buffer) });
  });
  setInterval(() => renewals.check(), checkEveryMs);
  port.postMessage({ nowMs: now() } satisfies ReadyMessage);
}

function isSettings(data: unknown): data is WorkerSettings {
  return typeof data === 'object' && data !== null && 'module' in data && 'rules' in data;
}

if (parentPort !== null && isSettings(workerData)) void run(workerData, parentPort);
