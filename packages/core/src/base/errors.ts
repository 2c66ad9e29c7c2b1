/**
 * Every error this SDK raises on purpose is an {@link IncumbentError} with a stable `code`, or a
 * `TypeError` / `RangeError` with the code `INVALID_OPTION` or `INVALID_NAME` for a programmer's
 * mistake. Codes never change their meaning between minor versions; messages may.
 */

import type { DetailsByCode, ErrorDetails, StoreErrorDetails } from './error-details.ts';
import { jsonOf, withJson } from './json.ts';

/**
 * What is known of a store call that failed:
 * - `refused`: the store did not apply it and never will. `isRetryable` tells whether a new call
 *   may succeed.
 * - `notSent`: the store did not apply it and never will, because the request was not sent.
 * - `unknown`: the store may have applied it, or may still apply it. A write that timed out is
 *   `unknown`.
 */
export type Outcome = 'refused' | 'notSent' | 'unknown';

/** Codes of failed store calls. Each comes with an {@link Outcome}. */
export type StoreErrorCode =
  /** No server could be reached. */
  | 'UNREACHABLE'
  /** No answer came within `timeoutMs`. */
  | 'TIMEOUT'
  /** The connection was lost during the call. */
  | 'CONNECTION_LOST'
  /**
   * The store was reached but cannot serve now: no quorum, overload, shutdown, a file that another
   * process has locked, a full disk.
   */
  | 'UNAVAILABLE'
  /** Wrong user, password, token or certificate. */
  | 'UNAUTHENTICATED'
  /** The credentials are valid but do not allow this call. */
  | 'PERMISSION_DENIED'
  /** The lease is certainly gone, and with it every key that was bound to it. */
  | 'LEASE_EXPIRED'
  /** A value, or the number of changes, exceeds the store's limit. */
  | 'TOO_LARGE'
  /** The server is not a store of this kind, or a version of it that lacks what is needed. */
  | 'UNSUPPORTED'
  /** Another machine uses the store's file. This process cannot see its clock and processes. */
  | 'SHARED_FILE'
  /** The store's data is damaged. */
  | 'CORRUPT'
  /** The store was closed. */
  | 'STORE_CLOSED'
  /**
   * Another program changed a key of `leadership.stored` at the same time. `refused`: at every
   * try. `unknown`: the answer to the write was lost, so nobody can tell whether the write took
   * place before that change. `details.key` is the key.
   */
  | 'CONFLICT'
  /** Any other failure. `cause` is the native error. */
  | 'STORE_FAILED';

/** All codes: those of store calls, and those of everything else. */
export type ErrorCode =
  | StoreErrorCode
  /**
   * An option is missing, of the wrong type, or out of range. The message names the option, the
   * value and the range.
   */
  | 'INVALID_OPTION'
  /** A name of a member, election or group does not match `[A-Za-z0-9._-]{1,128}`. */
  | 'INVALID_NAME'
  /** The URL's scheme belongs to no store that this SDK knows. */
  | 'UNKNOWN_SCHEME'
  /** The adapter for this store is not installed. The message names the package. */
  | 'ADAPTER_MISSING'
  /** The store is not linearizable, and the election's `acceptWeakStore` does not name it. */
  | 'WEAK_STORE'
  /**
   * A key of the election holds data that this SDK did not write, or a key of `leadership.stored`
   * holds data that cannot be decoded.
   */
  | 'FOREIGN_DATA'
  /** A key of the election was written in a newer major version of the format. */
  | 'NEWER_FORMAT'
  /** The store granted a lease that is too short to lead. */
  | 'LEASE_TOO_SHORT'
  /** Another process holds the same member id. */
  | 'DUPLICATE_MEMBER'
  /** This member already campaigns for this election, or leads it. */
  | 'ALREADY_CAMPAIGNING'
  /** Earlier candidates of this election use another order of succession. */
  | 'SUCCESSION_MISMATCH'
  /** The last term is 2^63 − 1, the highest. `ElectionAdmin.lowerTermUnsafely` lowers it. */
  | 'TERMS_EXHAUSTED'
  /** A handover named a member that is not a candidate. */
  | 'NO_SUCH_CANDIDATE'
  /** The store refused a handover after the drain. The leadership ended as a resignation. */
  | 'HANDOVER_FAILED'
  /**
   * The leadership has ended. `details` says how. The reason of a leadership's abort signal has
   * this code.
   */
  | 'LEADERSHIP_ENDED'
  /** Without a store: the member could not write its vote to disk, and has ended. */
  | 'VOTE_NOT_WRITTEN'
  /** Without a store: the application's `position` failed, and the member has ended. */
  | 'POSITION_UNKNOWN'
  /** Without a store: the member found no other members to join, and has ended. */
  | 'JOIN_FAILED'
  /** Without a store: there are fewer members than a leader needs. */
  | 'NOT_ENOUGH_MEMBERS'
  /** A fence has admitted a newer term. */
  | 'STALE_TERM'
  /** The member was closed. */
  | 'MEMBER_CLOSED'
  /**
   * Without a store: this member voted in a list of members that differs so much from the present
   * one that two leaders could be elected in one term.
   */
  | 'MEMBERS_CHANGED'
  /** The observer was closed. */
  | 'OBSERVER_CLOSED';

/** The parts of an error besides its code and its message. */
export interface IncumbentErrorOptions<D extends ErrorDetails = ErrorDetails> {
  /** The native error. Kept unchanged as `error.cause`. */
  readonly cause?: unknown;
  /** Default `{}`. */
  readonly details?: D;
}

/** As `IncumbentErrorOptions`, for the codes whose details have fields that are always present. */
type WithDetails<D extends ErrorDetails> = IncumbentErrorOptions<D> & { readonly details: D };

type ArgumentsOf<C extends ErrorCode> = C extends ErrorCode
  ? Record<string, never> extends DetailsByCode[C]
    ? [code: C, message: string, options?: IncumbentErrorOptions<DetailsByCode[C]>]
    : [code: C, message: string, options: WithDetails<DetailsByCode[C]>]
  : never;

/** What the constructor of {@link IncumbentError} takes: a code, and the details of that code. */
export type IncumbentErrorArguments =
  | [code: StoreErrorCode, message: string, options?: IncumbentErrorOptions<StoreErrorDetails>]
  | ArgumentsOf<Exclude<ErrorCode, StoreErrorCode>>;

/**
 * The class of every error that the SDK raises on purpose. Distinguish errors by `code`, which is
 * stable, and not by `message`. {@link isIncumbentError} narrows `details` to those of the code.
 */
export class IncumbentError extends Error {
  readonly code: ErrorCode;
  readonly details: ErrorDetails;

  constructor(...[code, message, options = {}]: IncumbentErrorArguments) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.name = 'IncumbentError';
    this.code = code;
    this.details = withJson({ ...options.details });
  }

  /**
   * The name, code, message, outcome and details, with bigints as decimal strings. Without the
   * cause and the stack, which are for logs of this process.
   */
  toJSON(): unknown {
    const { name, code, message, details } = this;
    const outcome = 'outcome' in this ? { outcome: this.outcome } : {};
    return jsonOf({ name, code, message, ...outcome, details });
  }
}

/**
 * A store call that failed. An adapter throws nothing else, except the reason of an aborted signal
 * and a `TypeError` or `RangeError` for a wrong argument.
 */
export class StoreError extends IncumbentError {
  declare readonly code: StoreErrorCode;
  declare readonly details: StoreErrorDetails;
  readonly outcome: Outcome;

  constructor(code: StoreErrorCode, outcome: Outcome, message: string, options: IncumbentErrorOptions<StoreErrorDetails> = {}) {
    super(code, message, options);
    this.name = 'StoreError';
    this.outcome = outcome;
  }
}

/**
 * The errors with these codes, as a union: `code` determines the type of `details`.
 *
 * ```ts
 * if (isIncumbentError(error, 'STALE_TERM')) leadership.reportTerm(error.details.seen);
 * ```
 */
export type IncumbentErrorOf<C extends ErrorCode = ErrorCode> = C extends ErrorCode
  ? Omit<IncumbentError, 'code' | 'details'> & { readonly code: C; readonly details: DetailsByCode[C] }
  : never;

/**
 * True if this is an {@link IncumbentError} with one of these codes, or with any code if none is
 * given. Narrows `error.details` to the details of these codes. Unlike `instanceof`, it also
 * recognises errors of another copy of the package.
 */
export function isIncumbentError<C extends ErrorCode = ErrorCode>(error: unknown, ...codes: readonly C[]): error is IncumbentErrorOf<C> {
  if (!(error instanceof Error) || !('code' in error) || !('details' in error)) return false;
  return codes.length === 0 || codes.some((code) => code === error.code);
}

/**
 * The {@link Outcome} of a failed store call. `unknown` for every error that does not say
 * otherwise, such as the reason of an abort.
 */
export function outcomeOf(error: unknown): Outcome {
  if (error instanceof Error && 'outcome' in error) {
    const { outcome } = error;
    if (outcome === 'refused' || outcome === 'notSent') return outcome;
  }
  return 'unknown';
}

/** The codes of failures after which the same call may succeed later. */
const retryable: readonly ErrorCode[] = ['UNREACHABLE', 'TIMEOUT', 'CONNECTION_LOST', 'UNAVAILABLE', 'STORE_FAILED', 'LEASE_EXPIRED'];

/**
 * True if the same call may succeed later: the store could not be reached, did not answer in time,
 * or could not serve. False for wrong credentials, foreign data and invalid options. Codes:
 * `UNREACHABLE`, `TIMEOUT`, `CONNECTION_LOST`, `UNAVAILABLE`, `STORE_FAILED`, `LEASE_EXPIRED`.
 */
export function isRetryable(error: unknown): boolean {
  return isIncumbentError(error, ...retryable);
}

/** What was thrown, as text. Work may throw a value that cannot be converted to text. */
export function textOfError(thrown: unknown): string {
  try {
    return String(thrown);
  } catch {
    return 'an error that has no text';
  }
}
