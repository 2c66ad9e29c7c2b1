/** The command as a function of its arguments and its context. */

import { createRequire } from 'node:module';
import { setImmediate as nextTurn } from 'node:timers/promises';

import { CommanderError } from 'commander';

import type { CliContext } from './context.ts';
import { CliError, Exit, toCliError } from './exit.ts';
import { createProgram } from './program.ts';

/**
 * Runs one command line, without the name of the program, and resolves with its exit code. Never
 * rejects: errors are printed to `context.err`. While `run` runs, it handles signals of this
 * process.
 */
export async function runCli(args: readonly string[], context: CliContext): Promise<number> {
  let code: number = Exit.OK;
  try {
    const program = createProgram(args, context, version(), (result) => {
      code = result;
    });
    await program.parseAsync([...args], { from: 'user' });
    await checkOutput(context);
    return code;
  } catch (error) {
    // Commander has printed its error already. It also throws after --help and --version, with 0.
    if (error instanceof CommanderError) return error.exitCode === 0 ? Exit.OK : failureCode(args, Exit.USAGE);
    const { exitCode, message } = toCliError(error);
    context.err.line(`${context.err.style('red', 'incumbent:')} ${message}`);
    return failureCode(args, exitCode);
  }
}

/** @throws A `CliError` if the output could not be written, as on a full disk. */
async function checkOutput({ out }: CliContext): Promise<void> {
  await nextTurn();
  const reason: unknown = out.closed.reason;
  if (reason instanceof CliError && reason.exitCode !== Exit.OK) throw reason;
}

/**
 * The small exit codes of `run` are those of its program, so its own failures have another code.
 */
function failureCode([command]: readonly string[], code: number): number {
  return command === 'run' ? Exit.RUN_FAILED : code;
}

function version(): string {
  const manifest: unknown = createRequire(import.meta.url)('../package.json');
  return typeof manifest === 'object' && manifest !== null && 'version' in manifest ? String(manifest.version) : '';
}
