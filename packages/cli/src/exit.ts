/** Exit codes of the command. Scripts rely on them, so they change in major versions only. */

/** The exit codes, by name. */
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
  /**
   * `run`: signal n ended the program, or this process before the program started: 128 + n. Other
   * commands exit with it where the signal cannot end them: as PID 1 of a container.
   */
  SIGNAL: 128,
} as const;

/** What the exit codes mean, for all commands but `run`. */
export const EXIT_MEANINGS: Readonly<Record<number, string>> = {
  [Exit.OK]: 'done',
  [Exit.NO]: 'the answer is no: nobody leads, the request was not carried out, doctor found a failure',
  [Exit.USAGE]: 'the command line is wrong; nothing was done',
  [Exit.STORE]: 'the store cannot be reached or used',
};

/**
 * The command's own error codes in JSON, and what they mean. The other codes are the SDK's. Scripts
 * rely on them, as on the exit codes.
 */
export const CLI_ERRORS = {
  USAGE: 'the command line is wrong; nothing was done',
  NOBODY_LEADS: 'nobody leads; nothing was done',
  OTHER_TERM: 'the leader has another term than `--term`; nothing was done',
  TERM_OVER: 'the term ended before the request was written; nothing was done',
  NOT_IN_TIME: 'the leader was told to step down, but nobody has followed it within `--timeout`',
  WITHDRAWN:
    'the leader has not handed over within `--timeout`; the request is withdrawn, but a leader that had begun to stop its work still hands over',
  NO_SUCCESSOR: 'the leader has stopped leading, and nobody leads yet',
  OTHER_SUCCESSOR: 'the leader has stopped leading, and another member than the chosen one leads',
  NOT_LAST_TERM: '`--from` is not the last term; nothing was done',
  FAILED: 'any other failure',
} as const;

export type CliErrorCode = keyof typeof CLI_ERRORS;

export interface CliErrorOptions extends ErrorOptions {
  /** One of `CLI_ERRORS`, or a code of the SDK. Default `FAILED`. */
  readonly code?: string;
}

/** An error with a message for the user and the exit code of the command. */
export class CliError extends Error {
  readonly exitCode: number;
  readonly code: string;

  constructor(exitCode: number, message: string, { code = 'FAILED' satisfies CliErrorCode, ...options }: CliErrorOptions = {}) {
    super(message, options);
    this.name = 'CliError';
    this.exitCode = exitCode;
    this.code = code;
  }

  /** The message for people. If the store has failed, the message begins with the code. */
  get text(): string {
    return this.exitCode === Exit.STORE ? `${this.code}: ${this.message}` : this.message;
  }
}

export function usageError(message: string): CliError {
  return new CliError(Exit.USAGE, message, { code: 'USAGE' satisfies CliErrorCode });
}

/** The error of a request that was not carried out. */
export function refusal(code: CliErrorCode, message: string): CliError {
  return new CliError(Exit.NO, message, { code });
}

/** Any thrown value as an error with an exit code. The SDK's messages contain no credentials. */
export function toCliError(error: unknown): CliError {
  if (error instanceof CliError) return error;
  const message = inOwnWords(error instanceof Error ? error.message : String(error));
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string')
    return new CliError(Exit.STORE, message, { cause: error });
  return new CliError(exitCodeOf(error.code), message, { code: error.code, cause: error });
}

/** How the SDK's messages name options, and how the command does. */
const OWN_WORDS: readonly (readonly [RegExp, string])[] = [
  [/\bacceptWeakStore: '(\w+)' in the options of this call, or of the host that makes it/g, '--accept-weak-store $1'],
  [/Give each process its own memberId, or choose onDuplicate: .*$/s, 'Give each process its own --member'],
  [/ \(ElectionAdmin\.lowerTermUnsafely, or: (incumbent lower-term-unsafely)\)/g, ': $1'],
  [/ \(or open the store with session: "ttl"\)/g, ''],
];

function inOwnWords(message: string): string {
  return OWN_WORDS.reduce((text, [theirs, own]) => text.replace(theirs, own), message);
}

function exitCodeOf(code: string): number {
  switch (code) {
    case 'INVALID_OPTION':
    case 'INVALID_NAME':
    case 'UNKNOWN_SCHEME':
    case 'ADAPTER_MISSING':
    case 'WEAK_STORE':
      return Exit.USAGE;
    case 'NO_SUCH_CANDIDATE':
      return Exit.NO;
    default:
      return Exit.STORE;
  }
}
