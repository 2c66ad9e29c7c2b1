/**
 * Writes a driver's event: one line of JSON on standard output, with a timestamp of the host's
 * monotonic clock. Imports nothing else, because the driver's start and memory are measured.
 */

import { writeSync } from 'node:fs';

const untold: object[] = [];

/**
 * Writes the line after the work in progress, because writing takes a large part of the measured
 * time, and wakes up the bench, which needs a processor.
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
