/**
 * A process that leads, and blocks its event loop on SIGUSR2. Started by `startBlocked` of
 * `checks/blocked-leader.ts`, with its settings as JSON.
 */

import diagnosticsChannel from 'node:diagnostics_channel';
import type { Worker } from 'node:worker_threads';

import { emit } from '@incumbent/test-support/child';
import { weakStore } from '@incumbent/test-support/weak-store';
import { Member, openStore, type Leadership } from 'incumbent';

import type { BlockedSettings } from './checks/blocked-leader.ts';
import { emitTelemetry } from './leading.ts';

const SAMPLE_MS = 20;

const settings: BlockedSettings = JSON.parse(process.argv[2] ?? '{}');
const { url, memberId, election, renewIn, blockMs, maxBlockedMs, isSampled = false, endsWorker = false } = settings;

const workers: Worker[] = [];
process.on('worker', (worker) => workers.push(worker));
emitTelemetry();
for (const event of ['renewerReady', 'renewerLost', 'waiting', 'sessionKept', 'sessionRenewed'])
  diagnosticsChannel.subscribe(`incumbent:${event}`, () => emit(event));

const store = await openStore(url);
const limit = maxBlockedMs === undefined ? {} : { maxBlockedMs };
const member = new Member(store, { memberId, ...(renewIn === 'worker' ? { renewIn, ...limit } : {}) });
process.once('SIGTERM', () => void member.close().then(() => store.close()));

/**
 * Blocks this thread: nothing of its event loop runs meanwhile. Returns the time before the last
 * call of `isValid()` that returned true.
 */
function block(leadership: Leadership): bigint | undefined {
  const end = performance.now() + blockMs;
  let lastValid: bigint | undefined;
  const sample = (): void => {
    const from = process.hrtime.bigint();
    if (leadership.isValid()) lastValid = from;
  };
  while (performance.now() < end) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Math.min(SAMPLE_MS, Math.max(end - performance.now(), 1)));
    if (isSampled) sample();
  }
  sample();
  return lastValid;
}

async function work(leadership: Leadership): Promise<void> {
  const { term } = leadership;
  const onSignal = async (): Promise<void> => {
    // Nothing starts another worker before the block: this continues once the worker has ended.
    if (endsWorker) await workers.at(-1)?.terminate();
    emit('blocking');
    const from = block(leadership);
    // Before anything else of the event loop runs.
    emit('unblocked', { valid: leadership.isValid(), term });
    if (from !== undefined) emit('valid', { term, from });
  };
  process.once('SIGUSR2', () => void onSignal());
  emit('elected', { term });
  const { reason } = await leadership.ended;
  process.removeAllListeners('SIGUSR2');
  emit('ended', { term, reason });
}

// The events say how it ends.
member
  .election(election, weakStore(store))
  .lead(work)
  .catch(() => {});
