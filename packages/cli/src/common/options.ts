/** What the definitions of all commands share: common options, and sections of their help. */

import { MAX_TTL_MS, MIN_TTL_MS } from '@incumbent/core/adapter';
import { Option, type Command } from 'commander';

import type { CliContext } from '../context.ts';
import { Exit, EXIT_MEANINGS } from '../exit.ts';
import { type DurationRange, parseDuration } from './duration.ts';

/** Where a command is added, and what its action needs. */
export interface CommandParent {
  readonly root: Command;
  readonly context: CliContext;
  /** Takes the exit code of the command. */
  readonly end: (code: Promise<number>) => Promise<void>;
}

/** The options of every command. */
export function addStoreOptions(command: Command): Command {
  return command
    .option('--store <url>', 'URL of the store; other users of the machine can read it with ps (default: $INCUMBENT_STORE)')
    .option('--store-file <file>', 'file whose first line is the URL of the store (default: $INCUMBENT_STORE_FILE)')
    .helpOption('-h, --help', 'print this help');
}

/** An option whose value is a duration, in ms. `defaultText` is for the help only. */
export function durationOption(name: string, description: string, defaultText: string, range?: DurationRange): Option {
  return new Option(`${name} <duration>`, `${description} (default: ${defaultText})`).argParser((text) => parseDuration(name, text, range));
}

/** `--timeout`, 30 s by default. */
export function timeoutOption(description: string): Option {
  return new Option('--timeout <duration>', description).argParser((text) => parseDuration('--timeout', text)).default(30_000, '30s');
}

/** `--ttl`. Stores have ranges of their own within this one. */
export function ttlOption(description: string): Option {
  return durationOption('--ttl', description, '15s', { minMs: MIN_TTL_MS, maxMs: MAX_TTL_MS });
}

export const DURATIONS_HELP = '\nA duration is a number with a unit: 500ms, 15s, 1.5m, 1h.';

/** The section of the help on exit codes. Codes 2 and 3 mean the same for every command. */
export function exitCodes(ok: string, no?: string): string {
  const own = no === undefined ? [`0  ${ok}`] : [`0  ${ok}`, `1  ${no}`];
  const all = [...own, ...[Exit.USAGE, Exit.STORE].map((code) => `${code}  ${EXIT_MEANINGS[code]}`)];
  return `\nExit codes:\n${all.map((line) => `  ${line}`).join('\n')}`;
}

export function examples(...lines: readonly string[]): string {
  return `\nExamples:\n${lines.map((line) => `  $ ${line}`).join('\n')}`;
}
