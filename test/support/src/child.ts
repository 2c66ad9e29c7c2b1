import { writeSync } from 'node:fs';

/** Between two tries to write to a parent that is slow to read. */
const PAUSE_MS = 1;

/**
 * What a script started by `spawnScript` calls to tell its parent of an event: one line of JSON on
 * standard output, stamped here, with a clock that all processes of one machine share. A bigint
 * among the fields arrives as a string of decimal digits.
 */
export function emit(event: string, fields: Readonly<Record<string, unknown>> = {}): void {
  const at = process.hrtime.bigint();
  const line = JSON.stringify({ ...fields, event, at }, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
  // At once, and past any buffer: the next moment may bring a SIGKILL.
  const bytes = Buffer.from(`${line}\n`);
  for (let written = 0; written < bytes.length;) written += writeSome(bytes.subarray(written));
}

/**
 * As much as there is room for; none where the parent has not read what is there, after a moment.
 */
function writeSome(bytes: Uint8Array): number {
  try {
    return writeSync(1, bytes);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) throw error;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
    return 0;
  }
}
