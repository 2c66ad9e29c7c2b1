/** All watches of one store: one stream for them, and the way back when it is lost. */

import type { Client, OpenStream } from './client/client.ts';
import { blamesMember, endsWatch, storeClosed, toStoreError } from './errors.ts';
import { ExchangeError } from './client/exchange-error.ts';
import type { Mirror } from './watch-state.ts';
import { Recovery } from './recovery.ts';
import { range } from './protocol/kv.ts';
import { WATCH_PATH } from './protocol/watch.ts';
import { WatchStream, type Subscriber, type Subscription } from './watch-stream.ts';

/** How long a read, a connection or the server's word that it watches may take, each. */
const STEP_TIMEOUT_MS = 5_000;

/** What a hub ends when the store is closed. */
export interface Closable {
  fail(error: unknown): void;
}

export class WatchHub {
  readonly #client: Client;
  readonly #recovery = new Recovery();
  readonly #watches = new Set<Closable>();
  #stream: WatchStream | undefined;
  /** A key that was watched. */
  #watched = '';
  #opening: Promise<WatchStream> | undefined;

  constructor(client: Client) {
    this.#client = client;
  }

  /** It is ended with the store. Throws where that is closed. */
  add(watch: Closable): void {
    if (this.#client.closed) throw storeClosed('notSent');
    this.#watches.add(watch);
  }

  delete(watch: Closable): void {
    this.#watches.delete(watch);
  }

  /** Ends every watch, and the stream. */
  close(): void {
    for (const watch of this.#watches) watch.fail(storeClosed('notSent'));
    this.#stream?.end(new ExchangeError({ kind: 'closed', sent: true }, 'the store was closed'));
  }

  /** A watch was ended. Many processes lose a server at one moment, so what comes next is spread by chance; and a server that ends every watch is not asked on and on. */
  lost(): void {
    this.#recovery.hold();
  }

  /**
   * Fills the mirror from a linearizable read, and resolves when the server watches from the revision of that read on. Rejects with a
   * `StoreError`, or with the signal's reason. From then on the subscriber hears of every event, and of the end.
   */
  establish(mirror: Mirror<unknown>, subscriber: Subscriber, signal: AbortSignal): Promise<Subscription> {
    return this.#recovery.run(async () => {
      try {
        return await this.#readAndSubscribe(mirror, subscriber, signal);
      } catch (error) {
        if (!signal.aborted && !endsWatch(error)) this.#recovery.hold();
        throw error;
      }
    }, signal);
  }

  async #readAndSubscribe(mirror: Mirror<unknown>, subscriber: Subscriber, signal: AbortSignal): Promise<Subscription> {
    const answer = await this.#client.call(range, mirror.request, { timeoutMs: STEP_TIMEOUT_MS, background: true, signal });
    mirror.reset(answer.kvs, answer.revision);
    this.#watched = mirror.request.key;
    const subscribe = async (): Promise<Subscription> => {
      const stream = await this.#current();
      signal.throwIfAborted();
      return this.#created(stream.subscribe(mirror.request, answer.revision + 1n, subscriber), stream, signal);
    };
    try {
      return await subscribe();
    } catch (error) {
      if (signal.aborted || !endsWatch(error)) throw error;
      // The read was allowed, so the watch is too: it is the stream's token that has expired, and a new stream gets a new one.
      return subscribe();
    }
  }

  async #created(subscription: Subscription, stream: WatchStream, signal: AbortSignal): Promise<Subscription> {
    const abort = (): void => subscription.cancel();
    const late = setTimeout(() => this.#giveUp(subscription, stream), STEP_TIMEOUT_MS).unref();
    signal.addEventListener('abort', abort, { once: true });
    try {
      await subscription.created;
      return subscription;
    } catch (error) {
      signal.throwIfAborted();
      this.#retire(stream, error);
      throw toStoreError(error, 'Watch', true);
    } finally {
      clearTimeout(late);
      signal.removeEventListener('abort', abort);
    }
  }

  /**
   * The member did not confirm the watch in time, so the next requests go to another. The stream
   * ends, unless it has watches that the member has confirmed: these stay while it proves them.
   */
  #giveUp(subscription: Subscription, stream: WatchStream): void {
    const error = new ExchangeError({ kind: 'timeout', sent: true }, `no answer within ${STEP_TIMEOUT_MS} ms`);
    subscription.end(error);
    if (stream.open !== undefined) this.#client.leave(stream.open.session);
    stream.endUnlessWatched(error);
  }

  /** The stream stays for the watches that it has, and gets no more. */
  #retire(stream: WatchStream, error: unknown): void {
    if (this.#stream === stream) this.#stream = undefined;
    if (endsWatch(toStoreError(error, 'Watch', true))) this.#client.forgetToken(stream.open?.token);
  }

  #current(): Promise<WatchStream> {
    if (this.#stream !== undefined) return Promise.resolve(this.#stream);
    this.#opening ??= this.#open().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  async #open(): Promise<WatchStream> {
    const stream = new WatchStream({
      revision: () => this.#client.revision,
      proveMember: (open, signal) => this.#client.proveMember(open, signal),
      revisionElsewhere: (open, signal) => this.#revisionElsewhere(open, signal),
      onEnd: (ended, error) => this.#onEnd(ended, error),
    });
    stream.begin(await this.#client.openStream('Watch', WATCH_PATH, stream.handlers, { timeoutMs: STEP_TIMEOUT_MS, background: true }));
    if (!stream.over) this.#stream = stream;
    return stream;
  }

  async #revisionElsewhere({ session }: OpenStream, signal: AbortSignal): Promise<bigint> {
    this.#client.leave(session);
    // Of a key that may be read.
    const request = { key: this.#watched, limit: 1, keysOnly: true };
    const { revision } = await this.#client.call(range, request, { timeoutMs: STEP_TIMEOUT_MS, background: true, signal });
    return revision;
  }

  #onEnd(stream: WatchStream, error: ExchangeError | undefined): void {
    if (this.#stream === stream) this.#stream = undefined;
    if (error !== undefined && stream.open !== undefined && blamesMember(error)) this.#client.leave(stream.open.session);
  }
}
