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
    diagnosticsChannel.subscribe(`incumbent:${word}`, (fields) => emit('telemetry', { word, ...leadershipIn(fields) }));
}

/** The election and the term of an event, as far as it has them. */
export function leadershipIn(fields: unknown): { readonly election?: unknown; readonly term?: unknown } {
  if (typeof fields !== 'object' || fields === null) return {};
  const { election, term }: { readonly election?: unknown; readonly term?: unknown } = fields;
  return { election, term };
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

/**
 * Reports until leadership has ended, and `stopMs` longer. `election`: a part of each report, for
 * processes with several elections.
 */
export async function tellWhileLeading(leadership: Leading, stopMs: number, election?: string): Promise<void> {
  const about = { term: leadership.term, ...(election === undefined ? {} : { election }) };
  emit('elected', about);
  leadership.signal.addEventListener('abort', () => emit('aborted', about));
  void leadership.ended.then(({ reason, loopBlockedMs }) => emit('ended', { ...about, reason, loopBlockedMs }));
  const sampling = setInterval(() => sample(leadership, about), SAMPLE_MS);
  await leadership.ended;
  await new Promise((resolve) => setTimeout(resolve, stopMs));
  clearInterval(sampling);
  emit('stopped', about);
}

/** The leadership was valid at some moment after `from`, which is what the checks need. */
function sample(leadership: Leading, about: object): void {
  const from = process.hrtime.bigint();
  if (leadership.isValid()) emit('valid', { ...about, from });
}
