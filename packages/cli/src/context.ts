/** Everything that the command takes from outside, so that tests can replace it. */

import type { Store } from '@incumbent/core';
import type { OpenStoreOptions } from 'incumbent';

import type { Printer } from './common/printer.ts';

/** The environment, the streams and the functions that the command uses. */
export interface CliContext {
  /**
   * Environment variables: `INCUMBENT_STORE`, `PATH` and so on. `run` passes them on to its
   * program.
   */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Standard output: the command's answer. */
  readonly out: Printer;
  /** Standard error: messages, and the log of `run`. */
  readonly err: Printer;
  /** Opens a store by its URL; the command closes it. */
  readonly openStore: (url: string, options?: OpenStoreOptions) => Promise<Store>;
}
