/**
 * The work of a leader in a process of its own, for checks. It reports when it is valid, and calls
 * `isValid()` often.
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

/** How often a leader calls `isValid()`, in ms. */
const SAMPLE_MS = 5;

/** The properties of a leadership, over a store or without one. */
export interface Leading {
  readonly term: bigint;
  readonly signal: AbortSignal;
  readonly ended: Promise<{ readonly reason: string; readonly loopBlockedMs: number }>;
  isValid(): boolean;
}

/** Reports until leadership has ended, and `stopMs` longer. */
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

/** The leadership was valid at some moment after `from`, which is what the checks need. */
function sample(leadership: Leading): void {
  const from = process.hrtime.bigint();
  if (leadership.isValid()) emit('valid', { term: leadership.term, from });
}
