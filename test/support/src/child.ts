import { writeSync } from 'node:fs';

/** The pause between two attempts to write to a parent that reads slowly. */
const PAUSE_MS = 1;

/**
 * Reports an event to the parent of a script that `spawnScript` started: one line of JSON on
 * standard output. The timestamp is taken here, by a clock that all processes of one machine share.
 * A bigint among the fields arrives as a string of decimal digits. `at`: when it happened, if not
 * now.
 */
export function emit(event: string, fields: Readonly<Record<string, unknown>> = {}, at: bigint = process.hrtime.bigint()): void {
  const line = JSON.stringify({ ...fields, event, at }, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
  // Written synchronously and without a buffer, because a SIGKILL may follow.
  writeOut(`${line}\n`);
}

/** Writes all of the text to standard output at once, and waits for a parent that reads slowly. */
export function writeOut(text: string): void {
  const bytes = Buffer.from(text);
  for (let written = 0; written < bytes.length;) written += writeSome(bytes.subarray(written));
}

/**
 * Writes as much as fits. Writes nothing, after a pause, if the parent has not read the earlier
 * output.
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
