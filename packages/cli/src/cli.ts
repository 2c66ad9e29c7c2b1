/** The command, as a function of its arguments and its surroundings. */

import { createRequire } from 'node:module';
import { setImmediate as nextTurn } from 'node:timers/promises';

import { CommanderError } from 'commander';

import { CliError, Exit, toCliError } from './exit.ts';
import { program } from './command-line/program.ts';
import type { Surroundings } from './surroundings.ts';

/** Resolves with the exit code; never rejects. */
export async function runCli(args: readonly string[], surroundings: Surroundings): Promise<number> {
  let code: number = Exit.OK;
  try {
    const parser = program(args, surroundings, version(), (result) => {
      code = result;
    });
    await parser.parseAsync([...args], { from: 'user' });
    return await unlessUnheard(code, surroundings);
  } catch (error) {
    // Commander has said it already; help that was asked for is no error.
    if (error instanceof CommanderError) return error.exitCode === 0 ? Exit.OK : failureOf(args, Exit.USAGE);
    const { exitCode, message } = toCliError(error);
    surroundings.err.line(`${surroundings.err.style('red', 'incumbent:')} ${message}`);
    return failureOf(args, exitCode);
  }
}

/** An answer that could not be written, as on a full disk, is none. */
async function unlessUnheard(code: number, { out }: Surroundings): Promise<number> {
  await nextTurn();
  const end: unknown = out.closed.reason;
  if (end instanceof CliError && end.exitCode !== Exit.OK) throw end;
  return code;
}

/** `run` keeps the small codes for the program. */
function failureOf([verb]: readonly string[], code: number): number {
  return verb === 'run' ? Exit.RUN_FAILED : code;
}

function version(): string {
  const manifest: unknown = createRequire(import.meta.url)('../package.json');
  return typeof manifest === 'object' && manifest !== null && 'version' in manifest ? String(manifest.version) : '';
}
