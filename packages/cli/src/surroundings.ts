/** All that the command takes from outside, so that tests can give it something else. */

import type { Store } from '@incumbent/core';

import type { Printer } from './printer.ts';

export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly out: Printer;
  readonly err: Printer;
  readonly openStore: (url: string) => Promise<Store>;
}
