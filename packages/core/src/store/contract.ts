/**
 * The contract between an election and the store that it runs on: **compareAndSwap, lease, watch**.
 * Core holds every decision (renewal, deadlines, retries, queueing, ordering); an adapter makes one
 * attempt per call and says exactly how it ended.
 *
 * What every adapter promises:
 * - Each call settles within `timeoutMs` of its options, or sooner when its signal aborts; an
 *   aborted call rejects with the signal's reason.
 * - A call that fails throws a {@link StoreError} whose `outcome` is true: `refused` and `notSent`
 *   are said only of what certainly did not happen and never will; everything else is `unknown`.
 *   Nothing is retried, re-sent or queued behind the caller's back.
 * - `compareAndSwap`, `enqueue`, `read` and `list` are linearizable if `capabilities.linearizable`
 *   says so; but for a read that need not be fresh.
 * - Keys are relative to the store's namespace, which no other application shares.
 */

import type { Moment } from '../base/clock.ts';
import type { StoreError } from '../base/errors.ts';

/**
 * A path of names, separated by `/`, without one at either end: `elections/controller/leader`. A
 * name is `[A-Za-z0-9._~-]+`. What happens to a key that is also the path of others (`a` beside
 * `a/b`) is left to the store: do not make such keys.
 */
export type Key = string;

/** The store's own version of one key. Opaque: equal or not, nothing else. */
export type Revision = string;

/**
 * The store's own name for a lease. Opaque. Only the open store that was granted a lease has to be
 * able to renew it, bind keys to it and revoke it.
 */
export type LeaseId = string;

/** One key as the store holds it. */
export interface Entry {
  readonly key: Key;
  /**
   * What the caller named it: the key's last part, or the name given to `enqueue` where the store
   * decorates it.
   */
  readonly name: string;
  /** Empty where `values: false` was asked for. */
  readonly value: Uint8Array;
  /**
   * Changes with every change of the key. May restart when a key is deleted and made again
   * (`capabilities.revisionsSurviveDeletion`). Empty where `values: false` was asked for.
   */
  readonly revision: Revision;
  /** Rises with the creation of keys under one prefix. Meaningless across prefixes. */
  readonly order: bigint;
  /** The lease that the key lives by; absent when it lives until deleted. */
  readonly lease?: LeaseId;
}

/**
 * One part of an atomic swap. `expect` is what must hold for the swap to happen: the key's
 * revision, or null for "there is no such key".
 * - `put`: the value to write. `lease` binds the key to a lease, null unbinds it, `'keep'` (the
 *   default) leaves the binding as it is (none for a new key).
 * - `delete`: the key goes.
 * - neither: only checked.
 */
export type Change =
  | { readonly key: Key; readonly expect: Revision | null; readonly put: Uint8Array; readonly lease?: LeaseId | 'keep' | null }
  | { readonly key: Key; readonly expect: Revision; readonly delete: true }
  | { readonly key: Key; readonly expect: Revision | null };

export type SwapResult =
  /**
   * All changes happened, at once. `revisions[i]` is the new revision of what `changes[i]` put;
   * undefined for the others.
   */
  | { readonly swapped: true; readonly revisions: readonly (Revision | undefined)[] }
  /**
   * Nothing happened. `failed` names at least one change whose expectation did not hold, with what
   * the store held; undefined: no such key.
   */
  | { readonly swapped: false; readonly failed: readonly { readonly index: number; readonly current: Entry | undefined }[] };

export interface Lease {
  readonly id: LeaseId;
  /** What the store granted, which may be more or less than was asked. */
  readonly ttlMs: number;
  /**
   * The moment from which the store vouches for the whole ttl: one that a caller passed as `at`.
   */
  readonly validFrom: Moment;
}

export interface Renewal {
  readonly ttlMs: number;
  /**
   * The `at` of this call; or of an earlier one, where an acknowledgement proves less than a
   * renewal.
   */
  readonly validFrom: Moment;
}

export interface CallOptions {
  /** How long the call may take, in ms, above 0. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

export interface ReadOptions extends CallOptions {
  /**
   * False: what a watch of this open store might tell will do, which may lag behind; so that a
   * store whose linearizable reads cost more than others need not make one. True by default.
   */
  readonly fresh?: boolean;
}

export interface LeaseOptions extends CallOptions {
  /** Now, on the caller's clocks: taken before the call, so no later than the sending. */
  readonly at: Moment;
}

export interface ListOptions extends CallOptions {
  /**
   * False: the entries' values and revisions are left out, so that a store whose listings have
   * names alone need not ask for each. True by default.
   */
  readonly values?: boolean;
  /** Only entries created before this one. */
  readonly before?: Entry;
  /** At most so many, from 1: the first ones, by order of creation. */
  readonly first?: number;
  /** At most so many, from 1: the last ones, by order of creation. Not together with `first`. */
  readonly last?: number;
}

export interface WatchOptions {
  /** Ends the watch, quietly. */
  readonly signal: AbortSignal;
  /**
   * Called when the watch can no longer vouch for its last state: the link is lost, or has been
   * silent for too long. The next state that the watch yields ends this, and one always comes when
   * the link is back, changed or not. A state that had arrived before and was not consumed yet is
   * not yielded after this.
   */
  readonly onStale?: (cause: StoreError) => void;
}

export interface KeyWatchOptions extends WatchOptions {
  /**
   * False: whether there is such a key is all that is asked, so that a store whose notifications
   * carry nothing else need not look. Of an entry all but its key and name may be missing then
   * (empty, 0n, absent). True by default.
   */
  readonly values?: boolean;
}

/** What a store can and cannot promise. */
export interface StoreCapabilities {
  /**
   * Reads and swaps are linearizable. Where not, an election refuses the store unless told to
   * accept it.
   */
  readonly linearizable: boolean;
  /**
   * `counter`: terms are consecutive from 1, but that an abandoned claim may spend one. `clock`:
   * the store may lose what it keeps, and an entry's `order` is a time of its clock, so terms begin
   * there: they rise over such a loss.
   */
  readonly termSource: 'counter' | 'clock';
  /** The shortest and longest ttl that can be asked for, in ms. */
  readonly minTtlMs: number;
  readonly maxTtlMs: number;
  /**
   * After the last renewal, a lease that nobody renews is gone within this many ms, given healthy
   * servers.
   */
  expiresWithinMs(ttlMs: number): number;
  /**
   * When the process that was granted a lease has died, the lease is gone within this many ms.
   * Absent: only when its ttl is over.
   */
  readonly expiresOnExitWithinMs?: number;
  /**
   * Where an acknowledged renewal vouches only from an earlier one: how long before that one must
   * have been acknowledged, in parts of the ttl. From 0, which it is where it is left out, to a
   * half. Members renew more often there, so that a renewal that fails can be tried again all the
   * same.
   */
  readonly renewalLag?: number;
  /**
   * How long the second try takes after a call timed out because its server had gone silent: within
   * this many ms of being made, a call is answered by another server that is healthy, on a network
   * with short round trips. It covers what the adapter waits before it gives the silent server up,
   * the new connection, and the answer. A member's timing leaves time for it before the deadline.
   * Absent where there is no connection to lose: 0.
   */
  readonly reconnectsWithinMs?: number;
  /**
   * A key can be bound to somebody else's lease, so that a handover is one swap and the leader's
   * key never absent.
   */
  readonly assignableLease: boolean;
  /**
   * With the word that a key has changed, a watch is told what it holds. Where not, each change
   * costs a read, and candidates watch no more than they must.
   */
  readonly watchTellsValues: boolean;
  /** A key that is deleted and made again never has a revision that it had before. */
  readonly revisionsSurviveDeletion: boolean;
  /** Why this store may end a lease that is being renewed; absent where it does not. */
  readonly endsEarly?: string;
  /**
   * The most changes one swap may have. A leader's `swap` may have one fewer: its guard is a
   * change.
   */
  readonly maxChanges: number;
  readonly maxValueBytes: number;
  /** The most keys that should be bound to one lease: a member takes further leases beyond it. */
  readonly maxKeysPerLease: number;
}

/**
 * What a server tells of itself, for somebody who looks for trouble. What it does not tell is
 * absent.
 */
export interface StoreReport {
  readonly version?: string;
  /** By how much its wall clock is ahead of this process's, and by how much that may be wrong. */
  readonly clock?: { readonly aheadMs: number; readonly withinMs: number };
  /** What makes it weaker than it could be: its own settings, its replicas. */
  readonly warnings: readonly string[];
}

/**
 * How another process of this machine ends leases of this store, should this one have died. All of
 * it is plain data, to be sent by a pipe: it has in it what lets one into the store, passwords
 * included.
 */
export interface Revocation {
  /** The URL of an ES module that exports a function `openRevoker`, an {@link OpenRevoker}. */
  readonly module: string;
  /** What that function is given: where the store is, and who asks. As JSON. */
  readonly access: string;
  /** What its revoker is given for a lease that this store was granted. Undefined: it has ended. */
  ticketOf(lease: LeaseId): string | undefined;
}

/** Reads what it was given; does no I/O yet. */
export type OpenRevoker = (access: string) => Promise<Revoker>;

/** The end of leases, by another process than the one that they were granted to. */
export interface Revoker {
  /**
   * As `Store.revokeLease`: one attempt; when it resolves the lease is certainly gone, and all keys
   * bound to it.
   */
  revoke(ticket: string, options: CallOptions): Promise<void>;
  /** Frees sockets and timers. Bounded. */
  close(): Promise<void>;
}

/** One open store. Safe to share by any number of members and observers in a process. */
export interface Store extends AsyncDisposable {
  /** The kind of store, for messages and telemetry: `etcd`. */
  readonly name: string;
  readonly capabilities: StoreCapabilities;
  /**
   * Absent where no other process can end its leases: a store in memory, or one that was opened
   * with a function of the caller's own.
   */
  readonly revocation?: Revocation | undefined;

  /** Asks for a lease of `ttlMs`. */
  grantLease(ttlMs: number, options: LeaseOptions): Promise<Lease>;
  /** Renews a lease. `LEASE_EXPIRED` when it is certainly gone. Never brings a lease back. */
  renewLease(lease: LeaseId, options: LeaseOptions): Promise<Renewal>;
  /**
   * Ends a lease; every key bound to it vanishes at once. A lease that is gone already is no error.
   */
  revokeLease(lease: LeaseId, options: CallOptions): Promise<void>;

  /**
   * All changes, or none. At least one, and a key may occur once: otherwise a `RangeError`.
   * `LEASE_EXPIRED`, refused, when a lease it binds to is gone.
   */
  compareAndSwap(changes: readonly Change[], options: CallOptions): Promise<SwapResult>;
  /**
   * Adds an entry at the end of the queue under `prefix`. Idempotent for one name and lease: asked
   * again, it answers with the entry that is there, whatever its value has become.
   */
  enqueue(prefix: Key, name: string, value: Uint8Array, lease: LeaseId, options: CallOptions): Promise<Entry>;
  read(key: Key, options: ReadOptions): Promise<Entry | undefined>;
  /** The keys directly and indirectly under `prefix/`, in the order of their creation. */
  list(prefix: Key, options: ListOptions): Promise<readonly Entry[]>;

  /**
   * The state of a key now, then the state after every change. May skip states, but never the
   * latest; may repeat one. The first state is no older than the call. Survives reconnection,
   * compaction and lost notifications by reading again; never dies silently: where it cannot go on
   * (no permission, store closed) it throws. It lags behind, and so is never proof of leadership.
   */
  watch(key: Key, options: KeyWatchOptions): AsyncIterable<Entry | undefined>;
  /** The same for all keys under `prefix/`, in the order of their creation. */
  watchList(prefix: Key, options: WatchOptions): AsyncIterable<readonly Entry[]>;

  /** For diagnosis; no election asks for it. */
  inspect?(options: CallOptions): Promise<StoreReport>;

  /**
   * Ends watches and calls in flight, frees sockets and timers. Idempotent, bounded. Leases live on
   * until they expire.
   */
  close(): Promise<void>;
}
