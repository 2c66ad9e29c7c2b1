/**
 * Every error this SDK raises on purpose is an {@link IncumbentError} with a stable `code`, or a
 * `TypeError` / `RangeError` with the code `INVALID_OPTION` or `INVALID_NAME` for a programmer's
 * mistake. Codes never change their meaning between minor versions; messages may.
 */

/**
 * What is known of a store call that failed: it certainly did not happen and would not if it were
 * tried unchanged (`refused`), it certainly did not happen because it never left (`notSent`), or
 * nobody knows (`unknown`). A timed-out write is `unknown`, never "no".
 */
export type Outcome = 'refused' | 'notSent' | 'unknown';

/** Codes of failed store calls. Each comes with an {@link Outcome}. */
export type StoreErrorCode =
  /** No server could be reached. */
  | 'UNREACHABLE'
  /** The call was sent and no answer came within its time. */
  | 'TIMEOUT'
  /** The connection went while the call was under way. */
  | 'CONNECTION_LOST'
  /**
   * The store is there and cannot serve now: no quorum, overloaded, shutting down; a file that
   * another process keeps locked, a full disk.
   */
  | 'UNAVAILABLE'
  /** Wrong user, password, token or certificate. */
  | 'UNAUTHENTICATED'
  /** The credentials are good and do not allow this. */
  | 'PERMISSION_DENIED'
  /** The lease is certainly gone, and with it every key that was bound to it. */
  | 'LEASE_EXPIRED'
  /** A value, or a number of changes, beyond the store's limits. */
  | 'TOO_LARGE'
  /** What answers is not such a store, or a version of it that cannot serve. */
  | 'UNSUPPORTED'
  /**
   * The store's file is in use by another machine, whose clock and processes cannot be seen from
   * here.
   */
  | 'SHARED_FILE'
  /** What the store keeps is damaged. */
  | 'CORRUPT'
  /** The store was closed. */
  | 'STORE_CLOSED'
  /** The store answered something that fits nowhere else; `cause` has it. */
  | 'STORE_FAILED';

/** All codes. */
export type ErrorCode =
  | StoreErrorCode
  /**
   * An option is missing, of the wrong type, or out of its range; the message names the option, the
   * value and the range.
   */
  | 'INVALID_OPTION'
  /** A name of a member, election or group does not match `[A-Za-z0-9._-]{1,128}`. */
  | 'INVALID_NAME'
  /** The URL's scheme is no store that this SDK knows. */
  | 'UNKNOWN_SCHEME'
  /** The adapter for this store is not installed; the message names the package. */
  | 'ADAPTER_MISSING'
  /** The store is not linearizable and the election was not told to accept that. */
  | 'WEAK_STORE'
  /** A key of the election holds something that no Incumbent wrote. */
  | 'FOREIGN_DATA'
  /** A key of the election was written by a newer major version of the format. */
  | 'NEWER_FORMAT'
  /** The store granted a lease that is too short to lead by. */
  | 'LEASE_TOO_SHORT'
  /** The store keeps another process under the same member id. */
  | 'DUPLICATE_MEMBER'
  /** This election is already campaigned for, or led, by this member. */
  | 'ALREADY_CAMPAIGNING'
  /** The queue of this election is ordered by another succession than this candidate's. */
  | 'SUCCESSION_MISMATCH'
  /** The last term is the highest of 64 bits. `ElectionAdmin.lowerTermUnsafely` lowers it. */
  | 'TERMS_EXHAUSTED'
  /** A handover named a member that is not a candidate now. */
  | 'NO_SUCH_CANDIDATE'
  /** A handover was refused by the store after the drain; leadership ended as a resignation. */
  | 'HANDOVER_FAILED'
  /**
   * The leadership has ended; `details.reason` says why. This is the type of its abort signal's
   * reason, too.
   */
  | 'LEADERSHIP_ENDED'
  /** A member of an election without a store could not write down its vote, and has ended. */
  | 'VOTE_NOT_WRITTEN'
  /**
   * A member of an election without a store was not told by its application how far its data reach,
   * and has ended.
   */
  | 'POSITION_UNKNOWN'
  /**
   * A member of an election without a store, whose members come and go, found no members to join,
   * and has ended.
   */
  | 'JOIN_FAILED'
  /** An election without a store has fewer members than it takes to lead. */
  | 'NOT_ENOUGH_MEMBERS'
  /** A fence has seen a newer term. */
  | 'STALE_TERM'
  /** The member was closed. */
  | 'MEMBER_CLOSED'
  /**
   * A vote was written among other members: so many others that two could be elected in one term.
   */
  | 'MEMBERS_CHANGED'
  /** The observer was closed. */
  | 'OBSERVER_CLOSED';

/** Facts that belong to an error; which are present depends on the code. */
export type ErrorDetails = Readonly<Record<string, unknown>>;

export interface IncumbentErrorOptions {
  /** The native error, kept as it came. */
  readonly cause?: unknown;
  readonly details?: ErrorDetails;
}

/** The one error class. Tell errors apart by `code`, never by message. */
export class IncumbentError extends Error {
  readonly code: ErrorCode;
  readonly details: ErrorDetails;

  constructor(code: ErrorCode, message: string, options: IncumbentErrorOptions = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.name = 'IncumbentError';
    this.code = code;
    this.details = options.details ?? {};
  }
}

/**
 * A store call that failed. What an adapter throws, and the only thing it throws besides the reason
 * of an aborted signal.
 */
export class StoreError extends IncumbentError {
  declare readonly code: StoreErrorCode;
  readonly outcome: Outcome;

  constructor(code: StoreErrorCode, outcome: Outcome, message: string, options: IncumbentErrorOptions = {}) {
    super(code, message, options);
    this.name = 'StoreError';
    this.outcome = outcome;
  }
}

/**
 * Whether this is an error of ours, with one of these codes if any are given. Holds over several
 * copies of the package in one process.
 */
export function isIncumbentError(error: unknown, ...codes: readonly ErrorCode[]): error is IncumbentError {
  if (!(error instanceof Error) || !('code' in error) || !('details' in error)) return false;
  return codes.length === 0 || codes.some((code) => code === error.code);
}

/**
 * What is known of a failed call: adapters say it; anything they did not foresee, and an abort, is
 * `unknown`.
 */
export function outcomeOf(error: unknown): Outcome {
  if (error instanceof Error && 'outcome' in error) {
    const { outcome } = error;
    if (outcome === 'refused' || outcome === 'notSent') return outcome;
  }
  return 'unknown';
}

/** Codes of failures that a later call may not meet: the store may be back in a moment. */
const retryable: readonly ErrorCode[] = ['UNREACHABLE', 'TIMEOUT', 'CONNECTION_LOST', 'UNAVAILABLE', 'STORE_FAILED', 'LEASE_EXPIRED'];

/**
 * True if the same call may succeed later: the store could not be reached, did not answer in time,
 * or could not serve. False for wrong credentials, foreign data and invalid options. Codes:
 * `UNREACHABLE`, `TIMEOUT`, `CONNECTION_LOST`, `UNAVAILABLE`, `STORE_FAILED`, `LEASE_EXPIRED`.
 */
export function isRetryable(error: unknown): boolean {
  return isIncumbentError(error, ...retryable);
}
