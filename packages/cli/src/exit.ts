/** How the command ends: what its exit codes mean. Part of what users write scripts on: changed in major versions only. */

import { isIncumbentError } from '@incumbent/core';

export const Exit = {
  /** Done. */
  OK: 0,
  /** The answer is no: nobody leads, the act was not done, `doctor` found something that goes wrong. */
  NO: 1,
  /** The command line cannot be used. Nothing was done. */
  USAGE: 2,
  /** The store cannot be reached or used, or what it answered cannot be understood. */
  STORE: 3,
  /** Of `run`: leadership was lost, and `--once` says not to campaign again. The program was ended. */
  LOST: 124,
  /** Of `run`: it failed itself, before or beside the program: a usage error, a store that cannot be used. */
  RUN_FAILED: 125,
  /** Of `run`: there is such a program, and it cannot be run. */
  NOT_EXECUTABLE: 126,
  /** Of `run`: there is no such program. */
  NOT_FOUND: 127,
  /** Of `run`: a program that signal n ended, or a signal that came while there was none: 128 + n. */
  SIGNAL: 128,
} as const;

/** An end with a message for people and a code. */
export class CliError extends Error {
  readonly exitCode: number;

  constructor(exitCode: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'CliError';
    this.exitCode = exitCode;
  }
}

export function usageError(message: string): CliError {
  return new CliError(Exit.USAGE, message);
}

/** The code and the message of whatever was thrown. Credentials are in neither: the SDK's messages have none. */
export function toCliError(error: unknown): CliError {
  if (error instanceof CliError) return error;
  if (isInvalidInput(error)) return usageError(error.message);
  if (isIncumbentError(error, 'UNKNOWN_SCHEME', 'ADAPTER_MISSING', 'WEAK_STORE')) return usageError(error.message);
  if (isIncumbentError(error, 'NO_SUCH_CANDIDATE')) return new CliError(Exit.NO, error.message);
  if (isIncumbentError(error)) return new CliError(Exit.STORE, `${error.code}: ${error.message}`, { cause: error });
  return new CliError(Exit.STORE, error instanceof Error ? error.message : String(error), { cause: error });
}

function isInvalidInput(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && (error.code === 'INVALID_OPTION' || error.code === 'INVALID_NAME');
}
