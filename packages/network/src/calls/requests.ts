/** What the calls of a store ask for, after their arguments were checked. */

import type { Entry, Key } from '@incumbent/core';

/** A read or a watch of one key, or of the keys under a prefix. */
export type ReadQuery =
  | { readonly key: Key }
  | {
      readonly prefix: Key;
      readonly before?: Entry | undefined;
      readonly first?: number | undefined;
      readonly last?: number | undefined;
      readonly values?: boolean | undefined;
    };
