/**
 * What a store brings along to be put through the cases: clients on a namespace of its own, a clock, and, where it can, faults and an
 * operator's hand. What a harness does not offer is skipped by name, never silently.
 */

import type { Clock, Key, LeaseId, Store } from '@incumbent/core';

/** A fault of the link between one client and its store that a harness may offer. */
export type FaultKind = 'cut' | 'refuse' | 'dropReply' | 'dropRequests' | 'stall' | 'reset' | 'silenceWatches';

/**
 * The faults of one client's link. Each lasts until {@link Faults.heal}, but for `dropNextReply` and `reset`, which happen once. A harness
 * that does not list a kind in `offers` may throw when that one is called.
 */
export interface Faults {
  /** `cut`: everything is swallowed both ways. Open connections stay open and silent; new ones are never answered. */
  cut(): Promise<void>;
  /** `refuse`: open connections are reset, new ones refused. */
  refuse(): Promise<void>;
  /** `dropReply`: the next request reaches the store and is applied; its answer never comes, or the connection is reset in its place. */
  dropNextReply(): Promise<void>;
  /** `dropRequests`: what the client sends is swallowed. */
  dropRequests(): Promise<void>;
  /** `stall`: both directions are held, and delivered by `heal`. */
  stall(): Promise<void>;
  /** `reset`: every open connection is reset, once. New ones are served. */
  reset(): Promise<void>;
  /**
   * `silenceWatches`: the server, or the path to it, tells the watches that are open nothing more, and
   * maybe none that begin before `heal`. It closes no connection, and answers pings as before. Calls
   * succeed, if need be over a connection that the client opens for them.
   */
  silenceWatches(): Promise<void>;
  /** Ends every fault. Connections that lost bytes are reset. */
  heal(): Promise<void>;
}

/** A client whose link can be broken. */
export interface FaultyClient {
  readonly store: Store;
  readonly faults: Faults;
  /** A watch calls `onStale` within this many ms after its link was cut or its server fell silent for watches. */
  readonly noticesWithinMs: number;
  /** After `heal`, calls succeed again and watches yield again within this many ms. */
  readonly recoversWithinMs: number;
}

/** A hand on the store from outside every client, as an operator has it. Keys are relative to the case's namespace. */
export interface Operator {
  /** Writes raw bytes, bound to no lease. */
  put(key: Key, value: Uint8Array): Promise<void>;
  /** Deletes a key, whoever made it. */
  deleteKey(key: Key): Promise<void>;
  /** Ends a live lease at once. */
  expireLease(lease: LeaseId): Promise<void>;
}

/** The store itself, of this case alone. */
export interface Server {
  /** Ends it at once. No client is told; none can reach it. */
  kill(): Promise<void>;
  /** Starts it again, with everything that it had acknowledged, and resolves when it serves. */
  restart(): Promise<void>;
}

/** Several servers that serve one store, of this case alone: as many may fail as leave a majority. */
export interface Cluster {
  /** Ends the server that leads the others. */
  killLeader(): Promise<void>;
  /** The server that leads the others stands still: its connections stay open, and nothing answers. */
  freezeLeader(): Promise<void>;
  /** Ends so many that those that are left can decide nothing. */
  killMajority(): Promise<void>;
  /** As many stand still, the one that leads among them. */
  freezeMajority(): Promise<void>;
  /** All servers run, and serve. */
  restore(): Promise<void>;
}

/** What one case runs on. Its namespace is fresh; its clients are closed by the harness when the case is over. */
export interface StoreHarness {
  /** The clock that the clients live by: the system's, or a manual one that whoever made the harness drives. */
  readonly clock: Clock;
  /** A short ttl, in ms, that the store grants exactly as asked. */
  readonly ttlMs: number;
  /** Enough for one call on a healthy link, in ms. */
  readonly timeoutMs: number;
  /** How late, in ms, a timer, a notification or an answer may be on a healthy but busy machine. */
  readonly slackMs: number;
  /** Another client on the case's namespace. */
  open(): Promise<Store>;
  /**
   * False: nothing lies between a client and its store that could have a call on its way, as with a file. A call that a fault holds back then is known not
   * to have happened. True by default.
   */
  readonly wire?: boolean;
  /** The faults that {@link StoreHarness.faulty} has. */
  readonly offers?: readonly FaultKind[];
  /** Why the store cannot have a fault that `offers` does not list. A skipped case names the reason. */
  readonly impossible?: Readonly<Partial<Record<FaultKind, string>>>;
  /**
   * Another client on the case's namespace, through a link of its own that can be broken. `fault`: the
   * one that the case is about, where a link cannot have every fault. Present if `offers` is not empty.
   */
  faulty?(fault?: FaultKind): Promise<FaultyClient>;
  readonly operator?: Operator;
  readonly server?: Server;
  readonly cluster?: Cluster;
  /**
   * What clients of this case have left running (timers, sockets, watches on the server), one line each; asked after all of them
   * were closed and every lease revoked. Empty: nothing.
   */
  leaks?(): Promise<readonly string[]>;
}

/**
 * Makes a harness, runs `body` on it, and clears up whether the body succeeds or not. Settles as the body does. A harness on a manual
 * clock drives that clock while the body runs.
 */
export type UseHarness = (body: (harness: StoreHarness) => Promise<void>) => Promise<void>;
