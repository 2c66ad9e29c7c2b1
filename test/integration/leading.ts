/**
 * The work of a leader in a process of its own, for checks: it tells what it believes, and asks
 * itself often.
 */

import diagnosticsChannel from 'node:diagnostics_channel';
import { emit } from '@incumbent/test-support/child';

/**
 * Emits what telemetry reports about the leaderships of this process: pairs of a beginning and an
 * end.
 */
export function emitTelemetry(): void {
  for (const word of ['elected', 'ended'])
    diagnosticsChannel.subscribe(`incumbent:${word}`, (fields) => emit('telemetry', { word, term: termOf(fields) }));
}

function termOf(fields: unknown): unknown {
  return typeof fields === 'object' && fields !== null && 'term' in fields ? fields.term : undefined;
}

/** How often a member that leads asks itself whether it does. */
const SAMPLE_MS = 5;

/** What a leadership has, over a store or without one. */
export interface Leading {
  readonly term: bigint;
  readonly signal: AbortSignal;
  readonly ended: Promise<{ readonly reason: string; readonly loopBlockedMs: number }>;
  isValid(): boolean;
}

/** Until leadership has ended, and `stopMs` longer. */
export async function tellWhileLeading(leadership: Leading, stopMs: number): Promise<void> {
  const { term } = leadership;
  emit('elected', { term });
  leadership.signal.addEventListener('abort', () => emit('aborted', { term }));
  void leadership.ended.then(({ reason, loopBlockedMs }) => emit('ended', { term, reason, loopBlockedMs }));
  const sampling = setInterval(() => sample(leadership), SAMPLE_MS);
  await leadership.ended;
  await new Promise((resolve) => setTimeout(resolve, stopMs));
  clearInterval(sampling);
  emit('stopped', { term });
}

/** The belief held at some moment after `from`, so that is what counts. */
function sample(leadership: Leading): void {
  const from = process.hrtime.bigint();
  if (leadership.isValid()) emit('valid', { term: leadership.term, from });
}
