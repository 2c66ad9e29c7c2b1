/** The option `stopOn` of `lead` and `withLock`. */

import type { StopSignal } from '@incumbent/core';
import { invalidOption } from '@incumbent/core/adapter';
import type { Member } from './member.ts';

/** @throws {TypeError} `INVALID_OPTION` for anything but a list. */
export function checkStopOn(stopOn: unknown): void {
  if (!Array.isArray(stopOn)) throw invalidOption('stopOn', stopOn, 'a list');
}

/**
 * Shuts the member down at these signals, of which there may be none.
 *
 * @throws {TypeError | RangeError} `INVALID_OPTION` for a signal that is not known.
 */
export function stopOnSignals(member: Member, stopOn: readonly StopSignal[]): void {
  if (stopOn.length > 0) member.shutdownOn(...stopOn);
}
