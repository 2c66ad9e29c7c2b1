/** The option `--slots`. */

import { describeHidden } from '@incumbent/core/adapter';

import { Option } from 'commander';

import { usageError } from '../exit.ts';

const MOST_SLOTS = 100;

export function slotsOption(): Option {
  return new Option(
    '--slots <n>',
    'number of leaders: the program runs on up to n machines, each with a slot from 0 to n - 1; the same everywhere (default: one leader, without a slot)',
  ).argParser(parseSlots);
}

/** Throws a usage error for anything but an integer from 1 to 100. */
function parseSlots(text: string): number {
  const slots = Number(text);
  if (/^\d{1,3}$/.test(text) && slots >= 1 && slots <= MOST_SLOTS) return slots;
  throw usageError(`--slots is ${describeHidden(text)}: it must be an integer from 1 to ${MOST_SLOTS}`);
}
