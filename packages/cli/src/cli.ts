/** The command as a function of its arguments and its context. */

import { createRequire } from 'node:module';
import { setImmediate as nextTurn } from 'node:timers/promises';

import { type Command, CommanderError } from 'commander';

import { type ErrorLine, printJson } from './common/output.ts';
import { redactArguments } from './common/redact.ts';
import type { CliContext } from './context.ts';
import { CliError, Exit, EXIT_MEANINGS, toCliError, usageError } from './exit.ts';
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
    await parse(program, args);
    await checkOutput(context);
    return code;
  } catch (error) {
    const failure = error instanceof CommanderError ? usageError(parserMessage(error, args)) : toCliError(error);
    // Commander has printed its own errors already.
    if (!(error instanceof CommanderError)) context.err.line(`${context.err.style('red', 'incumbent:')} ${failure.text}`);
    if (isJson(args)) printJson(context.out, errorLine(failure));
    return failureCode(args, failure.exitCode);
  }
}

/** Runs the command. Returns also after --help and --version, after which commander throws, too. */
async function parse(program: Command, args: readonly string[]): Promise<void> {
  try {
    await program.parseAsync([...args], { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError && error.exitCode === 0)) throw error;
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

/**
 * True if the command line asks for JSON, also if the parser rejects it. The arguments of `run` may
 * be those of its program.
 */
function isJson(args: readonly string[]): boolean {
  const end = args.indexOf('--');
  return args[0] !== 'run' && args.slice(0, end === -1 ? args.length : end).includes('--json');
}

/** The message of the parser's error. It has none of its own if it has printed the help instead. */
function parserMessage({ code, message }: CommanderError, args: readonly string[]): string {
  if (code === 'commander.help') return 'a command is missing: see incumbent --help';
  return redactArguments(message, args).replace(/^error: /, '');
}

function errorLine({ code, message, exitCode }: CliError): ErrorLine {
  return { type: 'error', code, message, exitCode, meaning: EXIT_MEANINGS[exitCode] ?? '' };
}

function version(): string {
  const manifest: unknown = createRequire(import.meta.url)('../package.json');
  return typeof manifest === 'object' && manifest !== null && 'version' in manifest ? String(manifest.version) : '';
}
