/**
 * A member in a process of its own, for checks. It leads whenever it can, and reports when it is
 * valid. Started by `spawnMember`.
 */

import diagnosticsChannel from 'node:diagnostics_channel';
import { inspect } from 'node:util';
import { Member, openStore, type Leadership } from 'incumbent';
import { emit } from '@incumbent/test-support/child';
import { weakStore } from '@incumbent/test-support/weak-store';
import { emitTelemetry, tellWhileLeading } from './leading.ts';

const [url = 'memory:', memberId = 'm', ttlMs = '5000', election = 'controller', stopMs = '20', reaper = ''] = process.argv.slice(2);

// On a busy machine, the servers of a check may answer late at first.
const store = await openStore(url, { waitMs: 10_000 });
const member = new Member(store, { memberId, ttlMs: Number(ttlMs), reaper: reaper === 'reaper' });
// A check may send the signal twice. The second one must not kill the process while it closes.
let stopping: Promise<void> | undefined;
process.on('SIGTERM', () => void (stopping ??= stop()));
let leading: Leadership | undefined;
process.on('SIGUSR2', () => void handOver());
diagnosticsChannel.subscribe('incumbent:reaperReady', (fields) => emit('reaperReady', { pid: isReady(fields) ? fields.pid : undefined }));
for (const trouble of ['sessionSuspect', 'retry', 'reaperLost'])
  diagnosticsChannel.subscribe(`incumbent:${trouble}`, (fields) => emit('trouble', { trouble, fields: inspect(fields) }));
emitTelemetry();
emit('ready', { endsEarly: store.capabilities.endsEarly });

try {
  await member.election(election, weakStore(store)).lead(work);
} catch (error) {
  emit('failed', { error: String(error) });
}

async function work(leadership: Leadership): Promise<void> {
  leading = leadership;
  await tellWhileLeading(leadership, Number(stopMs));
}

function isReady(fields: unknown): fields is { readonly pid: number } {
  return typeof fields === 'object' && fields !== null && 'pid' in fields;
}

/** Hands over by name to the candidate that has waited longest. */
async function handOver(): Promise<void> {
  const successor = (await member.election(election).candidates()).find((candidate) => candidate.memberId !== memberId);
  if (successor === undefined) return;
  emit('handingOver', { successor: successor.memberId });
  await leading?.handover(successor.memberId);
}

async function stop(): Promise<void> {
  await member.shutdown();
  await store.close();
  emit('closed');
  process.removeAllListeners('SIGTERM');
}
