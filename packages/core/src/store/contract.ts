/**
 * The contract between an election and its store: **compareAndSwap, lease, watch**. Core makes all
 * decisions (renewal, deadlines, retries, queueing, ordering). An adapter makes one attempt per
 * call and reports exactly how the attempt ended.
 *
 * Every adapter guarantees:
 * - A call settles within its `timeoutMs`, or as soon as its signal aborts. An aborted call rejects
 *   with the signal's reason. A call without options has the default timeout: every adapter passes
 *   its options through `checkCall`.
 * - A call that fails rejects with a {@link StoreError} whose `outcome` is correct: `refused` and
 *   `notSent` only if the store did not apply the call and never will, `unknown` otherwise. The
 *   adapter does not send a call again, unless the store has certainly not applied it. A conflict
 *   that the store reports without a failed expectation is such a case: the adapter repeats the
 *   request within the timeout, or answers with what a read of the keys shows.
 * - `compareAndSwap`, `enqueue`, `list`, and `read` unless `fresh` is false, are linearizable if
 *   `capabilities.linearizable` is true.
 * - A value is what its bytes were at the call: the caller may use the array again.
 * - Keys are relative to the store's namespace. No other application uses that namespace.
 */

import type { Moment } from '../base/clock.ts';
import type { StoreError } from '../base/errors.ts';
import type { StoreReport } from './report.ts';

/**
 * A path of names that are separated by `/`: `elections/controller/leader`. It neither begins nor
 * ends with `/`. A name matches `[A-Za-z0-9._~-]+`. Do not create a key that is also a prefix of
 * other keys, such as `a` beside `a/b`: the contract does not say what happens.
 */
export type Key = string;

/** The store's version of one key. Opaque: compare two revisions of a key for equality only. */
export type Revision = string;

/**
 * The store's name for a lease. Opaque. Only the open store that granted a lease has to be able to
 * renew it, bind keys to it and revoke it.
 */
export type LeaseId = string;

/** One key as the store holds it. */
export interface Entry {
  readonly key: Key;
  /** The key's last part. For a key made by `enqueue`: the `name` that was passed. */
  readonly name: string;
  /** Empty in a list with `values: false`. */
  readonly value: Uint8Array;
  /**
   * Changes with every change of the key. If `capabilities.revisionsSurviveDeletion` is false, a
   * key that is deleted and created again may get an earlier revision. Empty in a list with
   * `values: false`.
   */
  readonly revision: Revision;
  /**
   * Keys with the same prefix have rising orders in the order of their creation. The orders of keys
   * with different prefixes cannot be compared.
   */
  readonly order: bigint;
  /** The lease that the key is bound to. Absent if the key stays until it is deleted. */
  readonly lease?: LeaseId;
}

/**
 * One part of an atomic swap. The swap happens only if the key has the revision `expect`, or does
 * not exist if `expect` is null.
 * - `put` writes a value. `lease` binds the key to a lease, or unbinds it if null. The default,
 *   `'keep'`, does not change the binding, also if the lease belongs to another client and
 *   `capabilities.assignableLease` is false. A new key is not bound.
 * - `delete` deletes the key.
 * - With neither of them, the swap only checks the key. The check is part of the atomic step, also
 *   if the key must not exist: nobody can create it between the check and the writes.
 */
export type Change =
  | { readonly key: Key; readonly expect: Revision | null; readonly put: Uint8Array; readonly lease?: LeaseId | 'keep' | null }
  | { readonly key: Key; readonly expect: Revision; readonly delete: true }
  | { readonly key: Key; readonly expect: Revision | null };

/** The answer to a `compareAndSwap`. */
export type SwapResult =
  /**
   * All changes were applied at once. `revisions[i]` is the new revision of the key that
   * `changes[i]` put, and undefined for deletions and checks.
   */
  | { readonly swapped: true; readonly revisions: readonly (Revision | undefined)[] }
  /**
   * Nothing was applied. `failed` has at least one change whose expectation did not hold, with the
   * key's present entry. `current` is undefined if the key does not exist.
   */
  | { readonly swapped: false; readonly failed: readonly { readonly index: number; readonly current: Entry | undefined }[] };

/** A lease that a store has granted. */
export interface Lease {
  readonly id: LeaseId;
  /**
   * The ttl that the store granted, in ms. It may be longer or shorter than requested. A store that
   * rounds the requested ttl returns the rounded one, or a shorter one: never more than it keeps.
   */
  readonly ttlMs: number;
  /** The store keeps the lease for the whole ttl from this moment on: an `at` that was passed. */
  readonly validFrom: Moment;
}

/** The answer to a renewal. */
export interface Renewal {
  /** The ttl that the store granted, in ms, as in {@link Lease.ttlMs}. */
  readonly ttlMs: number;
  /**
   * The store keeps the lease for the whole ttl from this moment on. It is the `at` of this call,
   * or of an earlier call if the acknowledgement does not prove that the store has counted this
   * renewal.
   */
  readonly validFrom: Moment;
}

/** The options of every store call. */
export interface CallOptions {
  /** The most that the call may take, in ms. Above 0. Default 2,500. */
  readonly timeoutMs?: number;
  /** Aborts the call, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** The options of a store call with the timeout filled in, as adapters work with them. */
export type TimedCall<O extends CallOptions = CallOptions> = O & { readonly timeoutMs: number };

/** The options of one read. */
export interface ReadOptions extends CallOptions {
  /**
   * False allows a state that lags behind, as a watch of this open store might show it. A store
   * whose linearizable reads are expensive can use a cheaper read. Default true: linearizable.
   */
  readonly fresh?: boolean;
}

/** The options of a call that grants or renews a lease. */
export interface LeaseOptions extends CallOptions {
  /** The present moment on the caller's clocks, read before the request is sent. */
  readonly at: Moment;
}

/** The options of one list: which entries, and whether with their values. */
export interface ListOptions extends CallOptions {
  /**
   * False leaves out values and revisions. A store whose lists contain only names then needs no
   * request per entry. Default true.
   */
  readonly values?: boolean;
  /** List only the entries that were created before this one. */
  readonly before?: Entry;
  /** List at most this many entries, the first ones by order of creation. From 1. */
  readonly first?: number;
  /** List at most this many entries, the last ones by order of creation. Not beside `first`. */
  readonly last?: number;
}

/** What a candidate has to know next: who is ahead of it, and the last term. */
export interface QueueLook {
  /** The key to read. */
  readonly key: Key;
  /** List at most this many entries, without values: the last ones before the new entry. From 1. */
  readonly last: number;
  /**
   * Receives those entries in the order of their creation, and the key's entry, as they were when
   * the store added the new entry. Called at most once, before `enqueue` resolves. A store need not
   * call it, for example because the queue is long, and never does if the entry existed before.
   */
  seen(ahead: readonly Entry[], found: Entry | undefined): void;
}

/** The options of `enqueue`. */
export interface EnqueueOptions extends CallOptions {
  /** Asks the store to read in the step in which it adds the entry, which saves requests. */
  readonly look?: QueueLook | undefined;
}

/** The options of a watch, of a key or of a list. */
export interface WatchOptions {
  /** Ends the watch without an error. So does leaving the loop: the iterator's `return`. */
  readonly signal?: AbortSignal;
  /**
   * Called when the watch can no longer confirm its last state, because the connection is lost or
   * has been silent for too long. Called once, until the watch yields a state again. The watch
   * always yields a state when the connection is back, even if nothing has changed. It never yields
   * a state that arrived before this call.
   */
  readonly onStale?: (cause: StoreError) => void;
}

/** The options of a watch of one key. */
export interface KeyWatchOptions extends WatchOptions {
  /**
   * False: the caller needs only whether the key exists, so a store whose notifications carry no
   * values needs no read. Every part of the entry but `key` and `name` may then be empty, 0n or
   * absent. Default true.
   */
  readonly values?: boolean;
  /** A revision at which the caller knows the key. The store may yield only later changes. */
  readonly since?: Revision | undefined;
}

/** What a store guarantees, and its limits. */
export interface StoreCapabilities {
  /**
   * True if reads and swaps are linearizable. Otherwise an election refuses the store, unless its
   * option `acceptWeakStore` names the store.
   */
  readonly linearizable: boolean;
  /** How this store may lose acknowledged writes, as a clause. Absent if it is linearizable. */
  readonly weakness?: string;
  /**
   * - `counter`: terms are consecutive from 1, except that an abandoned claim may use one up.
   * - `clock`: the store may lose data. The `order` of an entry is a time by the store's clock: the
   *   time since 1970 in one fixed unit, milliseconds or finer, or one more than the last order if
   *   that is higher. It is from 1 to 2^61, so nanoseconds fit until 2043. The first term is one
   *   more than the `order` of the candidate's entry. So terms rise even after such a loss, as long
   *   as the clock is right.
   */
  readonly termSource: 'counter' | 'clock';
  /** The shortest ttl that can be requested, in ms. */
  readonly minTtlMs: number;
  /** The longest ttl that can be requested, in ms. */
  readonly maxTtlMs: number;
  /**
   * The longest time from the last renewal of a lease with this ttl until healthy servers have
   * ended it, in ms.
   */
  expiresWithinMs(ttlMs: number): number;
  /**
   * The longest time from the death of the process that was granted a lease until the lease has
   * ended, in ms. Absent if the lease ends only when its ttl is over.
   */
  readonly expiresOnExitWithinMs?: number;
  /**
   * On some stores, an acknowledged renewal proves only that the store has counted an earlier one:
   * one that was acknowledged at least this long before, as a fraction of the ttl. From 0 to 0.5.
   * Default 0: it proves its own counting. Members renew more often on a store with a lag, so that
   * a failed renewal can be retried in time.
   */
  readonly renewalLag?: number;
  /**
   * After a call timed out because its server became silent: the longest time in which a second
   * call is answered by another, healthy server on a network with short round trips, in ms. It
   * includes the time until the adapter gives the silent server up, the new connection, and the
   * answer. The timing of a member leaves room for it before the deadline. Default 0, for stores
   * without connections.
   */
  readonly reconnectsWithinMs?: number;
  /**
   * True if a key can be bound to the lease of another member. Then a handover is one swap, and the
   * leader's key is never absent.
   */
  readonly assignableLease: boolean;
  /**
   * True if the notification of a change carries the key's value. Otherwise each change costs a
   * read, and candidates watch as few keys as possible.
   */
  readonly watchTellsValues: boolean;
  /** True if a key that is deleted and created again never gets a revision that it had before. */
  readonly revisionsSurviveDeletion: boolean;
  /**
   * Returns the revision that a swap has given one key, from the one that it has given another.
   * `lease` is the lease of the first key. No other change gives that key the same revision. The
   * successor of a handover learns the revisions of the term and of the leader's record in this
   * way, from its own entry. Absent if a swap gives each key a revision of its own.
   */
  readonly revisionInSwap?: (other: Revision, lease: LeaseId | undefined) => Revision;
  /** The reason why this store may end a lease although it is renewed. Absent if it never does. */
  readonly endsEarly?: string;
  /** The most changes in one swap: 12 or more. `leadership.swap` takes one fewer, for the guard. */
  readonly maxChanges: number;
  /** The longest value, in bytes. With `assignableLease`, one swap may have two such values. */
  readonly maxValueBytes: number;
  /**
   * The most that all keys and values of the namespace may take together, in bytes, as the store
   * writes them. A call beyond it fails with `TOO_LARGE`. Absent if there is no such limit.
   */
  readonly maxTotalBytes?: number;
  /** The most keys to bind to one lease. A member with more keys takes further leases. */
  readonly maxKeysPerLease: number;
}

/**
 * How another process on this machine can revoke leases of this store after this process has died.
 * It consists of strings that can be sent through a pipe. `access` contains the store's
 * credentials.
 */
export interface Revocation {
  /** The URL of an ES module that exports a function `openRevoker` of type `OpenRevoker`. */
  readonly module: string;
  /** The argument of that function: the store's address and credentials, as JSON. */
  readonly access: string;
  /**
   * True if the revoker can also renew leases: it has the method `renew`. Absent on a store whose
   * leases only the connection or the process that was granted them can renew.
   */
  readonly renews?: boolean;
  /**
   * The argument of `Revoker.revoke` and `Revoker.renew` for a lease that this store was granted.
   * Undefined if the lease has ended.
   */
  ticketOf(lease: LeaseId): string | undefined;
}

/**
 * One open store. Any number of members and observers of a process can share it.
 *
 * Every method rejects with a {@link StoreError}, with the reason of an aborted signal, or with a
 * `TypeError` or `RangeError` (`INVALID_OPTION`) for a wrong argument.
 */
export interface Store extends AsyncDisposable {
  /** The kind of store, for messages and telemetry: `etcd`. */
  readonly name: string;
  /**
   * What the keys are relative to, for messages and telemetry. It has the form of a key, so it is
   * no URL and has no credentials. Absent if the store has no namespace.
   */
  readonly namespace?: string | undefined;
  readonly capabilities: StoreCapabilities;
  /**
   * Absent if no other process can revoke leases of this store, such as a store in memory or one
   * that was opened with a callback of the user.
   */
  readonly revocation?: Revocation | undefined;

  /** Requests a lease of `ttlMs`, which is from `minTtlMs` to `maxTtlMs` of the capabilities. */
  grantLease(ttlMs: number, options: LeaseOptions): Promise<Lease>;
  /**
   * Renews a lease. Never brings back a lease that has ended. A request may reach the store after
   * that of a later call. It must not shorten what the later call has obtained: the store counts
   * the ttl from the moment at which it applies the request, or keeps the later one of two ends.
   *
   * @throws `LEASE_EXPIRED` if the lease has certainly ended.
   */
  renewLease(lease: LeaseId, options: LeaseOptions): Promise<Renewal>;
  /**
   * Ends a lease, and deletes every key bound to it in the same step. Resolves also if the lease
   * has already ended.
   */
  revokeLease(lease: LeaseId, options?: CallOptions): Promise<void>;

  /**
   * Applies all changes, or none of them. Needs at least one change, and takes each key at most
   * once.
   *
   * @throws `LEASE_EXPIRED` (`refused`) if a key is to be bound to a lease that has ended.
   *   `TOO_LARGE` (`refused`) beyond `maxChanges` or `maxValueBytes`.
   */
  compareAndSwap(changes: readonly Change[], options?: CallOptions): Promise<SwapResult>;
  /**
   * Adds an entry at the end of the queue under `prefix`. Idempotent for one name and lease: a
   * second call resolves with the existing entry, also if its value has changed since.
   *
   * @throws `LEASE_EXPIRED` (`refused`) if the lease has ended. `STORE_FAILED` (`refused`) if there
   *   is an entry of this name and another lease, and the store has room for one of them only.
   *   `TOO_LARGE` (`refused`) beyond `maxValueBytes`.
   */
  enqueue(prefix: Key, name: string, value: Uint8Array, lease: LeaseId, options?: EnqueueOptions): Promise<Entry>;
  /** Reads a key. Resolves with undefined if the key does not exist. */
  read(key: Key, options?: ReadOptions): Promise<Entry | undefined>;
  /**
   * Lists the keys under `prefix/`, at any depth, in the order of their creation. The result is one
   * state of the store. Without values, a store may read a prefix of several levels one level after
   * the other: then it is not one state, and only keys with the same parent are in order.
   */
  list(prefix: Key, options?: ListOptions): Promise<readonly Entry[]>;

  /**
   * Yields the present state of a key, then the state after every change. May skip states, but
   * always yields the latest one. May yield a state twice. The first state is no older than the
   * call. Reads the key again after a lost connection, a compaction or a lost notification. A watch
   * lags behind the store, so it never proves that a member leads.
   *
   * @throws While iterating: a {@link StoreError} if the watch cannot continue, because the
   *   permission is missing or the store was closed.
   */
  watch(key: Key, options?: KeyWatchOptions): AsyncIterable<Entry | undefined>;
  /** The same for all keys under `prefix/`, in the order of their creation. */
  watchList(prefix: Key, options?: WatchOptions): AsyncIterable<readonly Entry[]>;

  /** Describes the server, for diagnosis. Elections do not call it. */
  inspect?(options?: CallOptions): Promise<StoreReport>;

  /**
   * Ends watches and calls in flight, and frees sockets and timers, within a bounded time.
   * Idempotent. Leases stay until they expire.
   */
  close(): Promise<void>;
}
