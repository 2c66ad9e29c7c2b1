/** All watches of one store. */

import { StoreError, systemClock, systemRandom } from '@incumbent/core/adapter';
import { endsWatch, storeClosed } from '@incumbent/network';

import type { Client, OpenStream } from './client/client.ts';
import { ExchangeError } from './client/failure.ts';
import { blamesMember, isDenied, toStoreError } from './errors.ts';
import { range, type KeyRange } from './protocol/kv.ts';
import { WATCH_PATH } from './protocol/watch.ts';
import { WatchRecovery } from './watch-recovery.ts';
import type { WatchState } from './watch-state.ts';
import { WatchStream } from './watch-stream.ts';
import type { Subscriber, Subscription } from './watch-subscription.ts';

/** How long each step may take: a read, opening a stream, the server's confirmation of a watch. */
const STEP_TIMEOUT_MS = 5_000;

/** A watch that ends when the store closes. */
export interface Closable {
  fail(error: unknown): void;
}

/** Starts watches on one shared stream, and opens another stream when that one is lost. */
export class WatchHub {
  readonly #client: Client;
  readonly #recovery = new WatchRecovery(systemClock, systemRandom);
  readonly #watches = new Set<Closable>();
  #stream: WatchStream | undefined;
  /** The stream before that one, if it still has watches. */
  #retired: WatchStream | undefined;
  /** A key that the user may read. */
  #watchedKey = '';
  #opening: Promise<WatchStream> | undefined;

  constructor(client: Client) {
    this.#client = client;
  }

  /** Registers a watch that `close` ends. Throws if the store is closed. */
  add(watch: Closable): void {
    if (this.#client.closed) throw storeClosed('etcd');
    this.#watches.add(watch);
  }

  remove(watch: Closable): void {
    this.#watches.delete(watch);
  }

  /** Ends every watch, and the streams. */
  close(): void {
    for (const watch of this.#watches) watch.fail(storeClosed('etcd'));
    const closed = new ExchangeError({ kind: 'closed', sent: true }, 'the store was closed');
    for (const stream of [this.#stream, this.#retired]) stream?.end(closed);
  }

  /**
   * The server ended a watch. The next attempts pause for a random time: many processes lose a
   * server at the same moment, and a server that ends every watch must not be asked all the time.
   */
  onWatchLost(): void {
    this.#recovery.hold();
  }

  /**
   * Fills the state with a linearizable read, unless the caller knows a revision of the key, and
   * resolves when the server watches from that revision on. The subscriber then receives every
   * event, and the end. Rejects with a `StoreError`. After the subscriber has stopped, rejects with
   * any error; ignore it.
   */
  establish(state: WatchState<unknown>, subscriber: Subscriber): Promise<Subscription> {
    return this.#recovery.run(async () => {
      try {
        const revision = state.takeSince() ?? (await this.#read(state, subscriber.signal));
        return await this.#subscribe(state.request, revision + 1n, subscriber);
      } catch (error) {
        if (!subscriber.stopped && !endsWatch(error)) this.#recovery.hold();
        throw error;
      }
    }, subscriber);
  }

  async #read(state: WatchState<unknown>, signal: AbortSignal): Promise<bigint> {
    const { kvs, revision } = await this.#client.call(range, state.request, { timeoutMs: STEP_TIMEOUT_MS, background: true, signal });
    state.reset(kvs, revision);
    return revision;
  }

  async #subscribe(target: KeyRange, fromRevision: bigint, subscriber: Subscriber): Promise<Subscription> {
    this.#watchedKey = target.key;
    const subscribe = async (): Promise<Subscription> => {
      const stream = this.#stream ?? (await this.#opened());
      if (subscriber.stopped) throw new Error('the watch was stopped before it was requested');
      return this.#created(stream.subscribe(target, fromRevision, subscriber), stream);
    };
    try {
      return await subscribe();
    } catch (error) {
      if (subscriber.stopped || !mayBeOutdatedToken(error)) throw error;
      // A new stream uses a new token.
      return subscribe();
    }
  }

  /**
   * If the watch is stopped meanwhile, it is cancelled only after the server has confirmed it,
   * because a cancellation needs the server's id. Until then, or for `STEP_TIMEOUT_MS`, it keeps
   * its place among the watches that are starting.
   */
  async #created(subscription: Subscription, stream: WatchStream): Promise<Subscription> {
    const late = setTimeout(() => this.#abandon(subscription, stream), STEP_TIMEOUT_MS).unref();
    try {
      await subscription.created;
      return subscription;
    } catch (error) {
      const reason = toStoreError(error, 'Watch', true);
      this.#retire(stream, reason);
      throw reason;
    } finally {
      clearTimeout(late);
    }
  }

  /**
   * The member did not confirm the watch in time, so the next requests go to another one. The
   * stream ends, unless it has watches that the member has confirmed: those stay while the member
   * proves that it serves them.
   */
  #abandon(subscription: Subscription, stream: WatchStream): void {
    const error = new ExchangeError({ kind: 'timeout', sent: true }, `no answer within ${STEP_TIMEOUT_MS} ms`);
    subscription.end(error);
    if (stream.open !== undefined) this.#client.leave(stream.open.connection);
    stream.endUnlessWatched(error);
  }

  /**
   * The stream keeps its watches, and gets no new ones. If its token is outdated, the stream that
   * was retired before it ends, and the watches of that one start again: with tokens that live for
   * 5 minutes, 288 streams could accumulate in a day, each with its own proofs.
   */
  #retire(stream: WatchStream, error: StoreError): void {
    const isOutdated = mayBeOutdatedToken(error);
    if (isOutdated) this.#client.forgetToken(stream.open?.token);
    if (this.#stream !== stream) return;
    this.#stream = undefined;
    const older = this.#retired;
    this.#retired = stream;
    if (isOutdated) older?.end(new ExchangeError({ kind: 'replaced' }, 'newer streams have replaced the stream of this watch'));
  }

  #opened(): Promise<WatchStream> {
    this.#opening ??= this.#open().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  async #open(): Promise<WatchStream> {
    const stream = new WatchStream({
      revision: () => this.#client.revision,
      proveMember: (open, signal) => this.#client.proveMember(open, this.#watchedKey, signal),
      revisionElsewhere: (open, signal) => this.#revisionElsewhere(open, signal),
      onEnd: (ended, error) => this.#onEnd(ended, error),
    });
    stream.begin(await this.#client.openStream('Watch', WATCH_PATH, stream.handlers, { timeoutMs: STEP_TIMEOUT_MS, background: true }));
    if (!stream.over) this.#stream = stream;
    // Runs after the watches that wait for this stream have used it. All may have been stopped.
    setImmediate(() => stream.endIfIdle());
    return stream;
  }

  async #revisionElsewhere({ connection }: OpenStream, signal: AbortSignal): Promise<bigint> {
    this.#client.leave(connection);
    const request = { key: this.#watchedKey, limit: 1, keysOnly: true };
    const { revision } = await this.#client.call(range, request, { timeoutMs: STEP_TIMEOUT_MS, background: true, signal });
    return revision;
  }

  #onEnd(stream: WatchStream, error: ExchangeError | undefined): void {
    if (this.#stream === stream) this.#stream = undefined;
    if (this.#retired === stream) this.#retired = undefined;
    if (error !== undefined && stream.open !== undefined && blamesMember(error)) this.#client.leave(stream.open.connection);
  }
}

/**
 * Whether the server may have refused a watch because the token of its stream is outdated: it
 * rejected the token, or it denied the permission. Older versions of etcd deny the permission for a
 * watch if the token has expired.
 */
function mayBeOutdatedToken(error: unknown): boolean {
  return error instanceof StoreError && isDenied(error.cause);
}
