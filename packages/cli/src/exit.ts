/** Exit codes of the command. Scripts rely on them, so they change in major versions only. */

import { isIncumbentError } from '@incumbent/core';

export const Exit = {
  /** Done. */
  OK: 0,
  /**
   * The answer is no: nobody leads, the request was not carried out, or `doctor` found a failure.
   */
  NO: 1,
  /** The command line is wrong. Nothing was done. */
  USAGE: 2,
  /** The store cannot be reached or used, or its data cannot be read. */
  STORE: 3,
  /** `run --once`: leadership was lost, and the program was ended. */
  LOST: 124,
  /** `run` itself failed, as on a wrong command line or a store that cannot be used. */
  RUN_FAILED: 125,
  /** `run`: the program exists, but cannot be executed. */
  NOT_EXECUTABLE: 126,
  /** `run`: the program was not found. */
  NOT_FOUND: 127,
  /** `run`: signal n ended the program, or this process before the program started: 128 + n. */
  SIGNAL: 128,
} as const;

/** An error with a message for the user and the exit code of the command. */
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

/** Any thrown value as an error with an exit code. The SDK's messages contain no credentials. */
export function toCliError(error: unknown): CliError {
  if (error instanceof CliError) return error;
  const message = inOwnWords(error instanceof Error ? error.message : String(error));
  if (isInvalidInput(error)) return usageError(message);
  if (isIncumbentError(error, 'UNKNOWN_SCHEME', 'ADAPTER_MISSING', 'WEAK_STORE')) return usageError(message);
  if (isIncumbentError(error, 'NO_SUCH_CANDIDATE')) return new CliError(Exit.NO, message);
  if (isIncumbentError(error)) return new CliError(Exit.STORE, `${error.code}: ${message}`, { cause: error });
  return new CliError(Exit.STORE, message, { cause: error });
}

/** How the SDK's messages name options, and how the command does. */
const OWN_WORDS: readonly (readonly [RegExp, string])[] = [
  [/\bacceptWeakStore: '(\w+)'/g, '--accept-weak-store $1'],
  [/\bacceptWeakStore\b/g, '--accept-weak-store'],
  [/Give each process its own memberId, or choose onDuplicate: .*$/s, 'Give each process its own --member'],
  [/ \(ElectionAdmin\.lowerTermUnsafely, or: (incumbent lower-term-unsafely)\)/g, ': $1'],
  [/ \(or open the store with session: "ttl"\)/g, ''],
];

function inOwnWords(message: string): string {
  return OWN_WORDS.reduce((text, [theirs, own]) => text.replace(theirs, own), message);
}

function isInvalidInput(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && (error.code === 'INVALID_OPTION' || error.code === 'INVALID_NAME');
}
