/**
 * What all watches of one store share: the connection, the subscription to changes, and the
 * countdown of leases.
 *
 * Scripts publish every change that they make on one channel, so most changes cost no request. The
 * server itself names the keys that anybody has changed (client-side caching in broadcast mode), so
 * a watch also notices a key that an operator deletes. Both arrive on the connection that reads
 * use, in the order in which they happened: a change that arrives after the answer of a read
 * happened after that read. After a lost connection, every watch reads again. Scripts sign their
 * messages, so anybody who may publish on the channel but may not read the namespace is ignored.
 */

import { randomBytes } from 'node:crypto';

import type { Clock, LeaseId } from '@incumbent/core';
import { Backoff, sleep, systemRandom } from '@incumbent/core/adapter';
import {
  endsWatch,
  FIRST_RECONNECT_PAUSE_MS,
  LONGEST_RECONNECT_PAUSE_MS,
  type ReadQuery,
  storeClosed,
  WatchRegistry,
} from '@incumbent/network';

import type { Client } from '../client/client.ts';
import type { Connection } from '../client/connection.ts';
import { checkRole, checkWrites } from '../client/greeting.ts';
import { toStoreError, withAclGrant } from '../errors.ts';
import { remainingTimes } from '../leases.ts';
import type { Keyspace } from '../namespace.ts';
import { readChanges, type Change } from '../protocol/changes.ts';
import type { StoredEntry } from '../protocol/entries.ts';
import { ExchangeError, isAnswer } from '../protocol/failure.ts';
import { textOf } from '../protocol/replies.ts';
import { isList, type Reply } from '../protocol/resp.ts';
import { verifierFrom, type MessageVerifier } from '../protocol/signature.ts';
import { MAX_READS, runReads } from '../reads.ts';
import { runScript } from '../scripts/script.ts';
import { secretScript } from '../scripts/secret.ts';
import type { RegisteredWatch, WatchSource } from '../watch.ts';
import { LeaseExpiries } from './lease-expiries.ts';
import { isCurrent, ScriptEchoes } from './script-echoes.ts';

/**
 * How often the server is asked, while there are watches, whether it is still the server to use: by
 * turns for its role, and by a write that changes nothing. A primary may refuse writes, and a
 * replica may be configured to accept them.
 */
const HEARTBEAT_MS = 2_000;

/**
 * The hub confirms echoes once in this many heartbeats, of all keys together. It does so rarely, so
 * that a failover causes no read of every store.
 */
const CONFIRM_HEARTBEATS = 15;

/** The server runs a long script, its memory is full, or its slot moves: it was not replaced. */
const HARMLESS = ['BUSY', 'OOM', 'ASK'] as const;

/** The length of a new secret that scripts sign with. */
const SECRET_BYTES = 24;

const ignored = (): void => {};

export class WatchHub implements WatchSource {
  readonly clock: Clock;
  readonly #expiries: LeaseExpiries;
  readonly #client: Client;
  readonly #keyspace: Keyspace;
  readonly #watches = new WatchRegistry<RegisteredWatch>();
  /** The connections that are subscribed. */
  readonly #subscribed = new WeakSet<Connection>();
  readonly #echoes = new ScriptEchoes();
  readonly #backoff = new Backoff(systemRandom, FIRST_RECONNECT_PAUSE_MS, LONGEST_RECONNECT_PAUSE_MS);
  readonly #closing = new AbortController();
  /** Whether the server names the keys that anybody changes. */
  #isTracking = false;
  #connection: Connection | undefined;
  #verifier: MessageVerifier | undefined;
  /** Whether a message arrived that the verifier rejects. */
  #hasRejected = false;
  #isRunning = false;

  constructor(client: Client, clock: Clock, keyspace: Keyspace) {
    this.clock = clock;
    this.#client = client;
    this.#keyspace = keyspace;
    this.#expiries = new LeaseExpiries(clock, (leases) => this.#askRemaining(leases));
  }

  add(watch: RegisteredWatch): void {
    if (this.#closing.signal.aborted) return watch.fail(storeClosed('redis'));
    this.#watches.add(watch);
    if (this.#connection?.usable === true) watch.onConnected();
    else if (!this.#isRunning) void this.#run();
  }

  remove(watch: RegisteredWatch): void {
    this.#watches.delete(watch);
    this.#expiries.track(watch, []);
  }

  trackLeases(watch: RegisteredWatch, entries: Iterable<StoredEntry>): void {
    this.#expiries.track(watch, entries);
  }

  /** This store has renewed the lease, which may end at this time. */
  onRenewed(lease: LeaseId, endsByMs: number): void {
    this.#expiries.onRenewed(lease, endsByMs);
  }

  async read(query: ReadQuery): Promise<readonly StoredEntry[]> {
    const [entries = []] = await this.#client.exchangeOn(this.#usableConnection(), (connection) =>
      runReads(connection, this.#keyspace, [query]),
    );
    return entries;
  }

  nameGrant(error: unknown): unknown {
    return withAclGrant(error, this.#keyspace);
  }

  /** A push message of the server: one that answers no request. */
  onPush(reply: Reply): void {
    const [kind, second, message] = isList(reply) ? reply : [];
    const name = kind instanceof Uint8Array ? textOf(kind) : '';
    if (name === 'message') this.#onMessage(message);
    if (name === 'invalidate') this.#onKeysChanged(second);
  }

  /** Ends every watch with `STORE_CLOSED`. */
  close(): void {
    const closed = storeClosed('redis');
    this.#closing.abort(closed);
    for (const watch of this.#watches) watch.fail(closed);
  }

  #usableConnection(): Connection {
    if (this.#connection?.usable === true) return this.#connection;
    throw new ExchangeError({ kind: 'cut' }, 'the connection is lost');
  }

  /** Connects, and connects again after every loss, while there are watches. */
  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#isNeeded) {
      try {
        const connection = await this.#client.connect();
        await this.#client.exchangeOn(connection, (used) => this.#subscribe(used));
        this.#backoff.reset();
        this.#onDisconnected(await this.#serve(connection));
      } catch (error) {
        this.#onDisconnected(error);
      }
      if (this.#isNeeded) await sleep(this.clock, this.#backoff.next(), this.#closing.signal);
    }
    this.#isRunning = false;
  }

  get #isNeeded(): boolean {
    return this.#watches.size > 0 && !this.#closing.signal.aborted;
  }

  /** Resolves at the end of the connection, with its reason. */
  async #serve(connection: Connection): Promise<unknown> {
    this.#connection = connection;
    this.#echoes.clear();
    this.#hasRejected = false;
    const stopHeartbeat = this.#startHeartbeat(connection);
    for (const watch of this.#watches) watch.onConnected();
    const error = await connection.ended;
    stopHeartbeat();
    this.#connection = undefined;
    return error;
  }

  #onDisconnected(error: unknown): void {
    const reason = toStoreError(error, 'watch');
    for (const watch of this.#watches) {
      if (endsWatch(reason)) watch.fail(reason);
      else watch.onDisconnected(reason);
    }
  }

  async #subscribe(connection: Connection): Promise<void> {
    if (this.#subscribed.has(connection)) return;
    const { channel, keyPrefix } = this.#keyspace;
    const subscribed = connection.request(['SUBSCRIBE', channel], ignored);
    const tracked = connection.request(['CLIENT', 'TRACKING', 'ON', 'BCAST', 'PREFIX', keyPrefix], ignored);
    const [, verifier, [tracking]] = await Promise.all([subscribed, this.#readVerifier(connection), Promise.allSettled([tracked])]);
    // Without this permission, the heartbeat reads all watched keys, for the changes by hand.
    this.#isTracking = tracking.status === 'fulfilled';
    if (tracking.status === 'rejected' && !isAnswer(tracking.reason, 'NOPERM', 'ERR')) throw tracking.reason;
    this.#verifier = verifier;
    this.#subscribed.add(connection);
  }

  #readVerifier(connection: Connection): Promise<MessageVerifier> {
    const secret = randomBytes(SECRET_BYTES).toString('hex');
    return runScript(connection, secretScript, this.#keyspace, [secret], verifierFrom);
  }

  /**
   * Reads the secret again after a message was rejected. Scripts sign with another secret after
   * somebody has deleted it, and use lower stamps after a server has lost its data and its clock
   * was set back. In both cases every watch reads again. Otherwise the message was forged or
   * repeated.
   */
  async #checkRejected(connection: Connection): Promise<void> {
    this.#hasRejected = false;
    const before = this.#verifier;
    try {
      const now = await this.#client.exchangeOn(connection, (used) => this.#readVerifier(used));
      if (before?.hasSameSecret(now) === true && now.lastStamp >= before.lastStamp) return;
      this.#verifier = now;
      this.#invalidateAll();
    } catch {
      this.#hasRejected = true;
    }
  }

  #startHeartbeat(connection: Connection): () => void {
    let cancel = (): void => {};
    let beats = 0;
    const beat = (): void => {
      cancel = this.clock.schedule(HEARTBEAT_MS, beat);
      beats += 1;
      if (this.#watches.size === 0) return;
      if (this.#hasRejected) void this.#checkRejected(connection);
      if (beats % CONFIRM_HEARTBEATS === 0) this.#confirmKeys(connection);
      const checked = beats % 2 === 0 ? checkWrites(connection, this.#keyspace) : checkRole(connection);
      checked.catch((error: unknown) => {
        if (error instanceof ExchangeError && !isAnswer(error, ...HARMLESS)) this.#client.leave(connection, error);
      });
    };
    cancel = this.clock.schedule(HEARTBEAT_MS, beat);
    return () => cancel();
  }

  /** Reads the keys of which the server may not have reported a change by hand. */
  #confirmKeys(connection: Connection): void {
    if (this.#isTracking) void this.#confirmEchoes(connection, this.#echoes.takeUnconfirmed());
    else this.#invalidateAll();
  }

  async #confirmEchoes(connection: Connection, all: readonly Change[]): Promise<void> {
    for (let from = 0; from < all.length; from += MAX_READS) {
      const changes = all.slice(from, from + MAX_READS);
      const queries = changes.map(({ key }) => ({ key }));
      try {
        const results = await this.#client.exchangeOn(connection, (used) => runReads(used, this.#keyspace, queries));
        for (const [index, change] of changes.entries()) if (!isCurrent(change, results[index]?.[0])) this.#invalidate(change.key);
      } catch {
        for (const { key } of changes) this.#invalidate(key);
      }
    }
  }

  #onMessage(message: Reply | undefined): void {
    const fields = message instanceof Uint8Array ? this.#verified(message) : undefined;
    if (fields === undefined) {
      this.#hasRejected = true;
      return;
    }
    let changes: readonly Change[];
    try {
      changes = readChanges(fields);
    } catch {
      // A script of another version has published a message that this version cannot read.
      return this.#invalidateAll();
    }
    this.#onChanges(changes);
  }

  #verified(message: Uint8Array): readonly Uint8Array[] | undefined {
    try {
      return this.#verifier?.verify(message);
    } catch {
      return undefined;
    }
  }

  #invalidate(key: string): void {
    for (const watch of this.#watches.watchesOf(key)) watch.invalidate();
  }

  #invalidateAll(): void {
    for (const watch of this.#watches) watch.invalidate();
  }

  #onChanges(changes: readonly Change[]): void {
    const byWatch = new Map<RegisteredWatch, Change[]>();
    for (const change of changes) {
      if (this.#isTracking) this.#echoes.add(change);
      for (const watch of this.#watches.watchesOf(change.key)) {
        const own = byWatch.get(watch) ?? [];
        own.push(change);
        byWatch.set(watch, own);
      }
    }
    for (const [watch, own] of byWatch) watch.onChanges(own);
  }

  /**
   * The server sends this at the end of each round of its event loop, after the messages of the
   * scripts of that round.
   */
  #onKeysChanged(names: Reply | undefined): void {
    if (names === undefined || !isList(names)) {
      // All keys were deleted at once (FLUSHALL, FLUSHDB).
      return this.#invalidateAll();
    }
    for (const name of names) {
      const key = name instanceof Uint8Array ? textOf(name).slice(this.#keyspace.keyPrefix.length) : '';
      const watches = this.#watches.watchesOf(key);
      if (!this.#echoes.isEcho(key, watches.length > 0)) for (const watch of watches) watch.invalidate();
    }
    this.#echoes.endRound();
  }

  #askRemaining(leases: readonly LeaseId[]): Promise<readonly (number | undefined)[]> {
    return this.#client.exchangeOn(this.#usableConnection(), (connection) => remainingTimes(connection, this.#keyspace, leases));
  }
}
