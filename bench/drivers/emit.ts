/** A driver's event: one line of JSON on standard output, stamped here, by the host's monotonic clock. Nothing else is loaded for it: its start and its memory are measured. */

import { writeSync } from 'node:fs';

export function emit(event: string, fields: Readonly<Record<string, unknown>> = {}): void {
  const at = process.hrtime.bigint();
  writeSync(
    1,
    `${JSON.stringify({ ...fields, event, at }, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value))}\n`,
  );
}
