/**
 * What a store provides to run the cases: clients on a fresh namespace, a clock, and optionally
 * faults and an operator's access. A case that needs something the harness does not offer is
 * reported as skipped, with the reason.
 */

import type { Clock, Key, LeaseId, Store } from '@incumbent/core';

/** A fault of the link between one client and its store. A harness may offer any of them. */
export type FaultKind = 'cut' | 'refuse' | 'dropReply' | 'dropRequests' | 'stall' | 'reset' | 'silenceWatches';

/**
 * The faults of one client's link. Each lasts until {@link Faults.heal}, except `dropNextReply` and
 * `reset`, which happen once. A method whose kind is not in `offers` may throw.
 */
export interface Faults {
  /**
   * `cut`: nothing arrives in either direction. Open connections stay open and silent, and new ones
   * are never answered.
   */
  cut(): Promise<void>;
  /** `refuse`: open connections are reset, and new ones are refused. */
  refuse(): Promise<void>;
  /**
   * `dropReply`: the store receives and applies the next write. The answer to the request that
   * applies it never arrives, or the connection is reset instead. A call may take several requests,
   * and pings may use the same connection: their answers are not the ones to drop.
   */
  dropNextReply(): Promise<void>;
  /** `dropRequests`: what the client sends never arrives. */
  dropRequests(): Promise<void>;
  /** `stall`: both directions are held until `heal` delivers what was held. */
  stall(): Promise<void>;
  /** `reset`: every open connection is reset once. New connections work. */
  reset(): Promise<void>;
  /**
   * `silenceWatches`: the server or the path to it reports nothing more to the open watches, and
   * possibly nothing to those that begin before `heal`. It closes no connection and answers pings
   * as before. Calls succeed, if necessary over a new connection of the client.
   */
  silenceWatches(): Promise<void>;
  /** Ends every fault. Connections that lost bytes are reset. */
  heal(): Promise<void>;
}

/** A client whose link can be broken. */
export interface FaultyClient {
  readonly store: Store;
  readonly faults: Faults;
  /**
   * A watch calls `onStale` within this many ms after its link was cut or its server became silent.
   */
  readonly noticesWithinMs: number;
  /** After `heal`, calls succeed and watches yield again within this many ms. */
  readonly recoversWithinMs: number;
}

/** Direct access to the store, as an operator has it. Keys are relative to the case's namespace. */
export interface Operator {
  /** Writes raw bytes, bound to no lease, whether or not the key exists. */
  put(key: Key, value: Uint8Array): Promise<void>;
  /** Deletes a key, whoever created it. */
  deleteKey(key: Key): Promise<void>;
  /** Ends a live lease at once. */
  expireLease(lease: LeaseId): Promise<void>;
}

/** The store's server, which this case alone uses. */
export interface Server {
  /** Kills it at once. No client is notified, and none can reach it. */
  kill(): Promise<void>;
  /** Starts it again with everything that it had acknowledged. Resolves when it serves requests. */
  restart(): Promise<void>;
}

/**
 * Several servers of one store, which this case alone uses. The store works as long as a majority
 * of them does.
 */
export interface Cluster {
  /** Kills the server that leads the others. */
  killLeader(): Promise<void>;
  /**
   * Stops the server that leads the others (SIGSTOP): its connections stay open, and it answers
   * nothing.
   */
  freezeLeader(): Promise<void>;
  /** Kills so many servers that no majority is left. */
  killMajority(): Promise<void>;
  /** Stops so many servers that no majority is left, the leading one among them. */
  freezeMajority(): Promise<void>;
  /** Starts or resumes all servers. Resolves when they serve requests. */
  restore(): Promise<void>;
}

/**
 * What one case runs on. Its namespace is fresh. The harness closes its clients when the case is
 * over.
 */
export interface StoreHarness {
  /** The clock of the clients: the system's clock, or a manual one that the harness advances. */
  readonly clock: Clock;
  /** A short ttl, in ms, that the store grants exactly. */
  readonly ttlMs: number;
  /** Enough for one call on a healthy link, in ms. */
  readonly timeoutMs: number;
  /** How late a timer, a notification or an answer may be on a healthy but busy machine, in ms. */
  readonly slackMs: number;
  /**
   * Opens another client on the case's namespace. It must share no state of the process with the
   * other clients, such as a lock or a cache: that would hide what breaks between processes.
   */
  open(): Promise<Store>;
  /**
   * False if a call is never on its way between a client and its store, as with a file. A call that
   * a fault holds back has then certainly not been applied. Default true.
   */
  readonly wire?: boolean;
  /**
   * True if `enqueue` also reads what it is asked to read, in the same step (`QueueLook`), at least
   * while the queue has five entries. A store need not. Default false.
   */
  readonly looks?: boolean;
  /**
   * True if every client can renew every lease, whichever client the lease was granted to. A store
   * need not allow this. Default false.
   */
  readonly sharedLeases?: boolean;
  /** The faults that clients of {@link StoreHarness.faulty} have. Default: none. */
  readonly offers?: readonly FaultKind[];
  /**
   * Why the store cannot have a fault that `offers` does not list. A skipped case states this
   * reason.
   */
  readonly impossible?: Readonly<Partial<Record<FaultKind, string>>>;
  /**
   * Opens another client on the case's namespace whose link can be broken. `fault`: the fault that
   * the case needs, if a link cannot have all. Required if `offers` is not empty.
   */
  faulty?(fault?: FaultKind): Promise<FaultyClient>;
  readonly operator?: Operator;
  readonly server?: Server;
  readonly cluster?: Cluster;
  /**
   * What the clients of this case have left running (timers, sockets, watches on the server), one
   * line each. Called after all clients were closed and every lease was revoked. Empty if nothing
   * is left.
   */
  leaks?(): Promise<readonly string[]>;
}

/**
 * Creates a harness, runs `body` on it, and cleans up whether or not the body succeeds. Settles
 * like the body. A harness with a manual clock advances it while the body runs.
 */
export type UseHarness = (body: (harness: StoreHarness) => Promise<void>) => Promise<void>;
