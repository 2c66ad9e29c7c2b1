/** What a list shows where values are left out. */

import type { Entry } from './store.ts';

/** An entry as `values: false` asks for it: without its value and revision. */
export function withoutValue(entry: Entry): Entry {
  return { ...entry, value: new Uint8Array(), revision: '' };
}
