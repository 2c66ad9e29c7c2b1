/**
 * A driver's event: one line of JSON on standard output, stamped here, by the host's monotonic
 * clock. Nothing else is loaded for it: its start and its memory are measured.
 */

import { writeSync } from 'node:fs';

const untold: object[] = [];

/**
 * The line is written when what is under way has been done: to write takes a good part of what is
 * measured, and wakes up the bench, which needs a processor.
 */
export function emit(event: string, fields: Readonly<Record<string, unknown>> = {}): void {
  untold.push({ ...fields, event, at: process.hrtime.bigint() });
  if (untold.length === 1) setImmediate(tell);
}

function tell(): void {
  const lines = untold.splice(0).map((fields) => JSON.stringify(fields, plain));
  if (lines.length > 0) writeSync(1, `${lines.join('\n')}\n`);
}

function plain(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}

process.on('exit', tell);
