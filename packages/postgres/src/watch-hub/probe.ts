/** What the server says about a namespace: its counter, and when the next lease may end. */

import { integerAt, maybeIntegerAt, onlyRow, type Row } from '../client/rows.ts';

export interface Probe {
  /** Rises with every change of a key. */
  readonly revision: number;
  /** Undefined: there is no lease. */
  readonly remainingMs: number | undefined;
}

/** Reads the answer of the function `probe`. */
export function probeIn(rows: readonly Row[]): Probe {
  const row = onlyRow(rows);
  return { revision: integerAt(row, 0), remainingMs: maybeIntegerAt(row, 1) };
}

export interface Notification extends Probe {
  readonly keys: readonly string[];
}

/**
 * Reads the payload of a notification, which a trigger writes when a transaction has changed keys.
 * Undefined for any other payload: whoever can connect to the database can send notifications.
 */
export function notificationIn(payload: string): Notification | undefined {
  const [, revision, remaining, keys] = /^(\d{1,16}) (-|-?\d{1,15})\n(.+)$/s.exec(payload) ?? [];
  if (revision === undefined || remaining === undefined || keys === undefined) return undefined;
  return { revision: Number(revision), remainingMs: remaining === '-' ? undefined : Number(remaining), keys: keys.split('\n') };
}
