/**
 * All watches of one store. Scripts tell of every change that they make on one channel, so that most changes cost no request; and the server itself says
 * which keys were touched, by whatever hand, so that a key that an operator deletes is missed by nobody. Both come on the connection that looks go by, in
 * the order in which things happened: what was looked at before is older than what is told after. Nothing told is kept anywhere: after a lost link
 * every watch looks again. Scripts sign what they tell: whoever may speak on the channel, and may not read the namespace, is not listened to.
 */

import { randomBytes } from 'node:crypto';

import type { Clock, LeaseId } from '@incumbent/core';
import { systemRandom } from '@incumbent/core/adapter';

import { Audience } from './watch-registry.ts';
import { readChanges, type Change } from '../protocol/changes.ts';
import { endsWatch, storeClosed, toStoreError } from '../errors.ts';
import { Expiries } from './lease-expiries.ts';
import { lookAt, type Look, type Names } from '../reads.ts';
import { listOf, numberOf, textOf, type Row } from '../namespace.ts';
import { lefts } from '../scripts/leases.ts';
import { run } from '../scripts/script.ts';
import { seal } from '../scripts/secret.ts';
import { readSeal, type Seal } from '../protocol/signature.ts';
import { isStill, Told } from './script-echoes.ts';
import type { AnyWatch, WatchHome } from '../watch.ts';
import type { Client } from '../client/client.ts';
import type { Connection } from '../client/connection.ts';
import { ExchangeError, isAnswer } from '../client/failure.ts';
import { checkRole } from '../client/greeting.ts';
import { isList, type Reply } from '../protocol/resp.ts';

/** While there are watches, the server is asked so often whether it is there, and still takes writes. */
const BEAT_MS = 2_000;

/** With one beat of so many, it is asked whether what scripts told of is still so: in one request, and rarely, as a failover should wake nobody. */
const SURE_BEATS = 15;

/** Of the secret that changes are signed with. */
const SECRET_BYTES = 24;

/** Between two attempts to get a link: at first, and at most. */
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 500;

export interface FeedNames extends Names {
  /** What the names of keys begin with on the server. */
  readonly places: string;
}

export class Feed implements WatchHome {
  readonly clock: Clock;
  readonly expiries: Expiries;
  readonly #client: Client;
  readonly #names: FeedNames;
  readonly #audience = new Audience();
  /** Those that changes are told on. */
  readonly #listening = new WeakSet<Connection>();
  readonly #told = new Told();
  #isTracking = false;
  #connection: Connection | undefined;
  #seal: Seal | undefined;
  /** Something was said on the channel that the seal does not prove. */
  #isUnproven = false;
  #running = false;
  #closed = false;
  #cancelPause: () => void = () => {};

  constructor(client: Client, clock: Clock, names: FeedNames) {
    this.clock = clock;
    this.#client = client;
    this.#names = names;
    this.expiries = new Expiries(clock, (leases) => this.#askLefts(leases));
  }

  add(watch: AnyWatch): void {
    if (this.#closed) return watch.fail(storeClosed());
    this.#audience.add(watch);
    if (this.#connection?.usable === true) watch.stand();
    else if (!this.#running) void this.#run();
  }

  remove(watch: AnyWatch): void {
    this.#audience.delete(watch);
    this.expiries.follow(watch, []);
  }

  follow(watch: AnyWatch, rows: Iterable<Row>): void {
    this.expiries.follow(watch, rows);
  }

  async look(what: Look): Promise<readonly Row[]> {
    const [rows = []] = await this.#client.use(this.#standing(), (connection) => lookAt(connection, this.#names, [what]));
    return rows;
  }

  /** What the server says unasked. */
  hear(reply: Reply): void {
    const [kind, what, message] = isList(reply) ? reply : [];
    const name = kind instanceof Uint8Array ? textOf(kind) : '';
    if (name === 'message') this.#onMessage(message);
    if (name === 'invalidate') this.#onTouched(what);
  }

  /** Ends every watch loudly. */
  close(): void {
    this.#closed = true;
    this.#cancelPause();
    for (const watch of this.#audience) watch.fail(storeClosed());
  }

  #standing(): Connection {
    if (this.#connection?.usable === true) return this.#connection;
    throw new ExchangeError({ kind: 'cut' }, 'the link is lost');
  }

  async #run(): Promise<void> {
    this.#running = true;
    let pauseMs = FIRST_PAUSE_MS;
    while (this.#audience.size > 0 && !this.#closed) {
      try {
        const connection = await this.#client.connection();
        await this.#listen(connection);
        pauseMs = FIRST_PAUSE_MS;
        this.#fall(await this.#stand(connection));
      } catch (error) {
        this.#fall(error);
      }
      if (this.#audience.size > 0 && !this.#closed) await this.#pause(pauseMs);
      pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
    }
    this.#running = false;
  }

  /** Resolves at the end of the connection, with why. */
  async #stand(connection: Connection): Promise<unknown> {
    this.#connection = connection;
    this.#told.clear();
    this.#isUnproven = false;
    const stopBeating = this.#beat(connection);
    for (const watch of this.#audience) watch.stand();
    const error = await connection.ended;
    stopBeating();
    this.#connection = undefined;
    return error;
  }

  #fall(error: unknown): void {
    const reason = toStoreError(error, 'watch');
    for (const watch of this.#audience) {
      if (endsWatch(reason)) watch.fail(reason);
      else watch.fall(reason);
    }
  }

  async #listen(connection: Connection): Promise<void> {
    if (this.#listening.has(connection)) return;
    const { channel, places } = this.#names;
    const subscribed = connection.request(['SUBSCRIBE', channel]);
    const tracked = connection.request(['CLIENT', 'TRACKING', 'ON', 'BCAST', 'PREFIX', places]);
    const sealed = this.#sealBy(connection);
    // Who may not have it hears of an operator's hand when the lease of the key is asked for.
    const [, sealNow, [tracking]] = await Promise.all([subscribed, sealed, Promise.allSettled([tracked])]);
    this.#isTracking = tracking.status === 'fulfilled';
    if (tracking.status === 'rejected' && !isAnswer(tracking.reason, 'NOPERM', 'ERR')) throw tracking.reason;
    this.#seal = sealNow;
    this.#listening.add(connection);
  }

  async #sealBy(connection: Connection): Promise<Seal> {
    const { tag, channel } = this.#names;
    return readSeal(await run(connection, seal, tag, [channel, randomBytes(SECRET_BYTES).toString('hex')]));
  }

  /**
   * What the seal does not prove says nothing, whoever said it. But scripts have another secret after somebody deleted it, with all else or by itself, and
   * older stamps after that on a server whose clock was set back.
   */
  async #reseal(connection: Connection): Promise<void> {
    this.#isUnproven = false;
    const before = this.#seal;
    const last = before?.last ?? 0n;
    try {
      const now = await this.#client.use(connection, (used) => this.#sealBy(used));
      if (before?.hasSecretOf(now) === true && now.last >= last) return;
      this.#seal = now;
      this.#doubtAll();
    } catch {
      this.#isUnproven = true;
    }
  }

  #beat(connection: Connection): () => void {
    let cancel = (): void => {};
    let beats = 0;
    const beat = (): void => {
      cancel = this.clock.schedule(BEAT_MS, beat);
      beats += 1;
      if (this.#audience.size === 0) return;
      if (this.#isUnproven) void this.#reseal(connection);
      if (beats % SURE_BEATS === 0) void this.#makeSure(connection, this.#told.takeUnsure());
      checkRole(connection).catch((error: unknown) => {
        if (error instanceof ExchangeError) connection.end(error);
      });
    };
    cancel = this.clock.schedule(BEAT_MS, beat);
    return () => cancel();
  }

  async #makeSure(connection: Connection, unsure: readonly Change[]): Promise<void> {
    if (unsure.length === 0) return;
    try {
      const looks = unsure.map(({ key }) => ({ key }));
      const rows = await this.#client.use(connection, (used) => lookAt(used, this.#names, looks));
      for (const [index, change] of unsure.entries()) if (!isStill(change, rows[index]?.[0])) this.#doubt(change.key);
    } catch {
      for (const { key } of unsure) this.#doubt(key);
    }
  }

  async #pause(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = this.clock.schedule(ms * (0.5 + systemRandom.u32() / 2 ** 33), resolve);
    this.#cancelPause = resolve;
    await promise;
    cancel();
  }

  #onMessage(message: Reply | undefined): void {
    const words = message instanceof Uint8Array ? this.#wordsOf(message) : undefined;
    if (words === undefined) {
      this.#isUnproven = true;
      return;
    }
    let changes: readonly Change[];
    try {
      changes = readChanges(words);
    } catch {
      // A script that this version does not know has told of something.
      return this.#doubtAll();
    }
    this.#onChanges(changes);
  }

  #wordsOf(message: Uint8Array): readonly Uint8Array[] | undefined {
    try {
      return this.#seal?.open(message);
    } catch {
      return undefined;
    }
  }

  #doubt(key: string): void {
    for (const watch of this.#audience.of(key)) watch.doubt();
  }

  #doubtAll(): void {
    for (const watch of this.#audience) watch.doubt();
  }

  #onChanges(changes: readonly Change[]): void {
    const news = new Map<AnyWatch, Change[]>();
    for (const change of changes) {
      if (this.#isTracking) this.#told.hear(change);
      for (const watch of this.#audience.of(change.key)) {
        const own = news.get(watch) ?? [];
        own.push(change);
        news.set(watch, own);
      }
    }
    for (const [watch, own] of news) watch.hear(own);
  }

  /** Said at the end of each of the server's rounds, of all that it touched in it: what scripts told of in that round was told before. */
  #onTouched(places: Reply | undefined): void {
    if (places === undefined || !isList(places)) {
      // Everything was deleted at once.
      return this.#doubtAll();
    }
    for (const place of places) {
      const key = place instanceof Uint8Array ? textOf(place).slice(this.#names.places.length) : '';
      const watches = this.#audience.of(key);
      if (!this.#told.explains(key, watches.length > 0)) for (const watch of watches) watch.doubt();
    }
    this.#told.endRound();
  }

  async #askLefts(leases: readonly LeaseId[]): Promise<readonly (number | undefined)[]> {
    const { tag, channel } = this.#names;
    const answer = await this.#client.use(this.#standing(), (connection) => run(connection, lefts, tag, [channel, ...leases]));
    const times = listOf(answer).map(numberOf);
    return times.map((time) => (time === -1 ? Infinity : time < 0 ? undefined : time));
  }
}
