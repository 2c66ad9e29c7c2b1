/**
 * A process that leads, and blocks its event loop on SIGUSR2. Started by `blocked.test.ts`.
 * Arguments: the store's URL, the member id, the ttl, where the leases are renewed, the longest
 * block that the worker outlasts, and how long each block takes, in ms.
 */

import diagnosticsChannel from 'node:diagnostics_channel';

import { emit } from '@incumbent/test-support/child';
import { weakStore } from '@incumbent/test-support/weak-store';
import { Member, openStore, type Leadership } from 'incumbent';

const [url = '', memberId = 'm', ttlMs = '10000', renewIn = 'eventLoop', maxBlockedMs = '10000', blockMs = '0'] = process.argv.slice(2);

for (const event of ['renewerReady', 'waiting', 'sessionKept']) diagnosticsChannel.subscribe(`incumbent:${event}`, () => emit(event));

const store = await openStore(url);
const place = renewIn === 'worker' ? ({ renewIn, maxBlockedMs: Number(maxBlockedMs) } as const) : {};
const member = new Member(store, { memberId, ttlMs: Number(ttlMs), ...place });
process.once('SIGTERM', () => void member.close().then(() => store.close()));

/** Blocks this thread. Nothing of its event loop runs meanwhile. */
function block(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(blockMs));
}

async function work(leadership: Leadership): Promise<void> {
  const onSignal = (): void => {
    emit('blocking');
    block();
    // Before anything else of the event loop runs.
    emit('unblocked', { valid: leadership.isValid(), term: leadership.term });
  };
  process.on('SIGUSR2', onSignal);
  emit('elected', { term: leadership.term });
  const { reason } = await leadership.ended;
  process.off('SIGUSR2', onSignal);
  emit('ended', { term: leadership.term, reason });
}

// The events say how it ends.
member
  .election('blocked', weakStore(store))
  .lead(work)
  .catch(() => {});
