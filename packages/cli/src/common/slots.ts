/** The option `--slots`. */

import { describeHidden } from '@incumbent/core/adapter';

import { usageError } from '../exit.ts';

const MOST_SLOTS = 100;

/** Throws a usage error for anything but an integer from 1 to 100. */
export function parseSlots(text: string): number {
  const slots = Number(text);
  if (/^\d{1,3}$/.test(text) && slots >= 1 && slots <= MOST_SLOTS) return slots;
  throw usageError(`--slots is ${describeHidden(text)}: it must be an integer from 1 to ${MOST_SLOTS}`);
}
