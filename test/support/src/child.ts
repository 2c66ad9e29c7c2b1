import { writeSync } from 'node:fs';

/**
 * What a script started by `spawnScript` calls to tell its parent of an event: one line of JSON on standard output, stamped here, with a
 * clock that all processes of one machine share. A bigint among the fields arrives as a string of decimal digits.
 */
export function emit(event: string, fields: Readonly<Record<string, unknown>> = {}): void {
  const at = process.hrtime.bigint();
  const line = JSON.stringify({ ...fields, event, at }, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
  // At once, and past any buffer: the next moment may bring a SIGKILL.
  writeSync(1, `${line}\n`);
}
