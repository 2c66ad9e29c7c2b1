/** What of a list is asked for. */

import { invalidOption } from '../base/validate.ts';
import type { Entry } from './contract.ts';

/** How much of it: `ListOptions` says. */
export interface Part {
  readonly first?: number | undefined;
  readonly last?: number | undefined;
}

/** Throws a `RangeError` unless `first`, or `last`, is a number of entries. */
export function checkListing({ first, last }: Part): void {
  for (const [name, count] of Object.entries({ first, last })) {
    if (count !== undefined && !(Number.isSafeInteger(count) && count > 0)) throw invalidOption(name, count, 'an integer above 0');
  }
  if (first !== undefined && last !== undefined) throw invalidOption('last', last, 'absent beside `first`');
}

/** Of what stands in the order of creation, the first ones, the last ones, or all. */
export function someOf<T>(all: readonly T[], { first, last }: Part): readonly T[] {
  if (first !== undefined) return all.slice(0, first);
  return last === undefined ? all : all.slice(Math.max(all.length - last, 0));
}

/** An entry as `values: false` asks for it: without its value and revision. */
export function withoutValue(entry: Entry): Entry {
  return { ...entry, value: new Uint8Array(), revision: '' };
}
