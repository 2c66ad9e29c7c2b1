/** What the verbs of the command line have in common. */

import type { Command } from 'commander';

import type { Surroundings } from '../surroundings.ts';

/** What a verb is added to, and where its exit code goes. */
export interface Shell {
  readonly root: Command;
  readonly surroundings: Surroundings;
  readonly end: (code: Promise<number>) => Promise<void>;
}

/** The options that every verb has. */
export function onStore(command: Command): Command {
  return command
    .option('--store <url>', 'the store (environment: INCUMBENT_STORE, which does not show in ps)')
    .option('--store-file <file>', 'a file with the URL in its first line (environment: INCUMBENT_STORE_FILE)');
}

export function examples(...lines: readonly string[]): string {
  return `\nExamples:\n${lines.map((line) => `  $ ${line}`).join('\n')}`;
}
