/** The facts that an error carries in `details`. The error's code determines which. */

/** Details of the codes that have none. */
export type NoDetails = Readonly<Record<string, never>>;

/**
 * Details of a failed store call. A field is present if it explains the failure and the store has
 * reported it.
 */
export interface StoreErrorDetails {
  /** With `LEASE_EXPIRED`: the lease that is gone. */
  readonly lease?: string | undefined;
  /** With `PERMISSION_DENIED`: the keys that the call needs, as the store has them. */
  readonly keys?: readonly string[];
  /** With `PERMISSION_DENIED`: the right that is missing, in the store's own word. */
  readonly right?: string;
  /** With `PERMISSION_DENIED`: the command or the rule with which an administrator grants it. */
  readonly grant?: string;
  /** With `CONFLICT`: the key that another program changed. */
  readonly key?: string;
  /** SQLite: the path of the database file. */
  readonly file?: string;
  /** With `SHARED_FILE`: the machine that uses the file. */
  readonly machine?: string;
  /** With `UNSUPPORTED`: the version that cannot be used. */
  readonly version?: string;
}

/** Details of `LEADERSHIP_ENDED`: how the leadership ended. */
export interface LeadershipEndDetails {
  /** The name of the election. Without a store, there is one election, and no name. */
  readonly election?: string;
  /** Undefined for a leadership by best effort, which has no term. */
  readonly term: bigint | undefined;
  /** A `LeadershipEndReason`; without a store, a `PeerEndReason`. */
  readonly reason: string;
  /**
   * False if the leader gave it up: by resigning, by a handover, by closing its member, or because
   * an operator made it step down.
   */
  readonly lost: boolean;
  /** The longest time that the event loop was blocked since the last renewal, in ms. */
  readonly loopBlockedMs: number;
  /** With the reason `termBehind`: the term that the fence reported. */
  readonly seenTerm?: bigint;
}

/** Details of `DUPLICATE_MEMBER`. */
export interface DuplicateDetails {
  readonly memberId: string;
  /** How long this member waited for the other process's lease to end, in ms. */
  readonly waitedMs: number;
  /** The other process's `host`, if it gave one. */
  readonly host?: string;
  /** When the other process created its `Member`, in ms since the epoch by its own clock. */
  readonly startedAt?: number;
}

/**
 * The type of `details` for each code. `isIncumbentError(error, code)` narrows an error to the code
 * and to its details.
 */
export interface DetailsByCode {
  readonly UNREACHABLE: StoreErrorDetails;
  readonly TIMEOUT: StoreErrorDetails;
  readonly CONNECTION_LOST: StoreErrorDetails;
  readonly UNAVAILABLE: StoreErrorDetails;
  readonly UNAUTHENTICATED: StoreErrorDetails;
  readonly PERMISSION_DENIED: StoreErrorDetails;
  readonly LEASE_EXPIRED: StoreErrorDetails;
  readonly TOO_LARGE: StoreErrorDetails;
  readonly UNSUPPORTED: StoreErrorDetails;
  readonly SHARED_FILE: StoreErrorDetails;
  readonly CORRUPT: StoreErrorDetails;
  readonly STORE_CLOSED: StoreErrorDetails;
  readonly CONFLICT: StoreErrorDetails;
  readonly STORE_FAILED: StoreErrorDetails;
  /** `value` describes a value that may hold a secret instead of showing it. */
  readonly INVALID_OPTION: { readonly option: string; readonly value?: unknown };
  /** `what` has the name: `election`, for example. */
  readonly INVALID_NAME: { readonly what: string; readonly name: unknown };
  /** `known` lists the schemes that are known. `scheme` is undefined for text without one. */
  readonly UNKNOWN_SCHEME: { readonly scheme: string | undefined; readonly known: readonly string[] };
  /** The npm package to install. */
  readonly ADAPTER_MISSING: { readonly package: string };
  readonly WEAK_STORE: { readonly store: string; readonly election: string };
  /** `key` holds the data; `issues` are those of the schema that a value does not fit. */
  readonly FOREIGN_DATA: { readonly key?: string; readonly issues?: unknown };
  /** `format` is the version of the format that `key` has. */
  readonly NEWER_FORMAT: { readonly key: string; readonly format: unknown };
  readonly LEASE_TOO_SHORT: { readonly askedMs: number; readonly grantedMs: number };
  readonly DUPLICATE_MEMBER: DuplicateDetails;
  readonly ALREADY_CAMPAIGNING: NoDetails;
  /** The ids of the two successions. */
  readonly SUCCESSION_MISMATCH: { readonly theirs: string; readonly mine: string };
  /** The last term. */
  readonly TERMS_EXHAUSTED: { readonly term: bigint };
  /**
   * `memberId` is the member that was named, and `candidates` are those that could have been.
   * Without a store, neither is present.
   */
  readonly NO_SUCH_CANDIDATE: { readonly memberId?: string | undefined; readonly candidates?: readonly string[] };
  /** The candidate that was to lead. */
  readonly HANDOVER_FAILED: { readonly memberId: string; readonly incarnation: string };
  readonly LEADERSHIP_ENDED: LeadershipEndDetails;
  readonly VOTE_NOT_WRITTEN: NoDetails;
  readonly POSITION_UNKNOWN: NoDetails;
  readonly JOIN_FAILED: NoDetails;
  readonly NOT_ENOUGH_MEMBERS: NoDetails;
  /** `term` was refused, because the fence has admitted `seen`. */
  readonly STALE_TERM: { readonly term: bigint; readonly seen: bigint };
  readonly MEMBER_CLOSED: NoDetails;
  /** The members of the last vote, and those of now. */
  readonly MEMBERS_CHANGED: { readonly former: readonly string[]; readonly members: readonly string[] };
  readonly OBSERVER_CLOSED: NoDetails;
}

/** The details of any error. */
export type ErrorDetails = DetailsByCode[keyof DetailsByCode];
