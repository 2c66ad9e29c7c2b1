/** One gRPC stream that carries any number of watches. */

import { watchCanceled } from './errors.ts';
import { ExchangeError } from './client/exchange-error.ts';
import type { OpenStream } from './client/client.ts';
import type { StreamHandlers } from './client/stream.ts';
import type { KeyRange } from './protocol/kv.ts';
import {
  decodeWatchAnswer,
  encodeProgressRequest,
  encodeWatchCancellation,
  encodeWatchCreation,
  type WatchAnswer,
  type WatchEvent,
} from './protocol/watch.ts';

/** Whoever watches. */
export interface Subscriber {
  heard(events: readonly WatchEvent[]): void;
  /** It had begun, and was ended, but not by `cancel`. */
  ended(error: ExchangeError): void;
}

/** One watch on the stream. */
export class Subscription {
  readonly subscriber: Subscriber;
  readonly #cancel: (subscription: Subscription) => void;
  /** Until it has begun. */
  #beginning: PromiseWithResolvers<void> | undefined = Promise.withResolvers<void>();
  /** The server's number for it, once it has one. */
  id: bigint | undefined;
  over = false;

  constructor(subscriber: Subscriber, cancel: (subscription: Subscription) => void) {
    this.subscriber = subscriber;
    this.#cancel = cancel;
    // Whoever stopped waiting for the creation need not hear that it failed.
    this.#beginning?.promise.catch(() => {});
  }

  /** Resolves when the server watches; rejects with an `ExchangeError` when it does not. */
  get created(): Promise<void> {
    return this.#beginning?.promise ?? Promise.resolve();
  }

  begin(id: bigint): void {
    this.id = id;
    this.#beginning?.resolve();
    this.#beginning = undefined;
  }

  end(error: ExchangeError | undefined): void {
    if (this.over) return;
    this.over = true;
    if (this.#beginning !== undefined) this.#beginning.reject(error);
    else if (error !== undefined) this.subscriber.ended(error);
  }

  /** Ends it. Idempotent. */
  cancel(): void {
    if (this.over) return;
    this.end(undefined);
    this.#cancel(this);
  }
}

/**
 * How often a stream has to prove that it still tells what changes, and within what time. A server
 * that hangs may answer pings and renewals for as long as it hangs.
 */
const PROVE_EVERY_MS = 3_000;
const PROVE_WITHIN_MS = 3_000;
/** After so many ms without a proof another member is asked, if there is one, how far the cluster has come. */
const COMPARE_AFTER_MS = 1_000;
/** A member that lags behind by a moment is asked again after so many ms. */
const ASK_AGAIN_MS = 250;
/** After a pause of this process, what came in meanwhile is read before it is taken for silence. */
const GRACE_MS = 50;

export interface WatchStreamContext {
  /** What a linearizable call has last shown: a member that has not come so far tells nothing of what changed. */
  revision(): bigint;
  /** Resolves when the member has served a linearizable read: it has then come as far as the cluster. */
  proveMember(open: OpenStream, signal: AbortSignal): Promise<void>;
  /** Sends the next requests elsewhere and resolves with the revision that a linearizable read shows there. */
  revisionElsewhere(open: OpenStream, signal: AbortSignal): Promise<bigint>;
  /** Called once, when the stream is of no more use; without an error when nobody uses it. */
  onEnd(stream: WatchStream, error: ExchangeError | undefined): void;
}

export class WatchStream {
  /** Asked for, and not answered yet: in order, as the answers will be. */
  readonly #unanswered: Subscription[] = [];
  readonly #live = new Map<bigint, Subscription>();
  readonly #context: WatchStreamContext;
  /** Whose end the server is to be told of. */
  readonly #cancelled: bigint[] = [];
  #open: OpenStream | undefined;
  #forgetSession = (): void => {};
  #over = false;
  /** Until the next proof is asked for, or is late. */
  #nextProof: NodeJS.Timeout | undefined;
  #askAgain: NodeJS.Timeout | undefined;
  #readAgain: NodeJS.Timeout | undefined;
  #compareSoon: NodeJS.Timeout | undefined;
  /** How far the member has come, by what it has told. */
  #shown = 0n;
  /** What is asked for now: progress up to this revision, and a read. Undefined once it has come. */
  #toProve: bigint | undefined;
  #reading: AbortController | undefined;

  constructor(context: WatchStreamContext) {
    this.#context = context;
  }

  /** What is heard on the stream. */
  readonly handlers: StreamHandlers = {
    message: (message) => this.#onAnswer(decodeWatchAnswer(message)),
    ended: (error) => this.#end(error ?? new ExchangeError({ kind: 'cut' }, 'the server ended the stream of watches')),
  };

  get over(): boolean {
    return this.#over;
  }

  /** The connection and the token that it uses. */
  get open(): OpenStream | undefined {
    return this.#open;
  }

  /** Takes the stream into use. */
  begin(open: OpenStream): void {
    this.#open = open;
    // A server that shuts down waits for its streams to end.
    const { session } = open;
    const forgets = [
      session.onLeaving(() => this.end(new ExchangeError({ kind: 'cut' }, 'the server is leaving'))),
      // Calls go elsewhere from now on. Do the watches have to?
      session.onRetired(() => this.prove()),
    ];
    this.#forgetSession = () => {
      for (const forget of forgets) forget();
    };
    if (!this.#over) this.#proveLater();
  }

  /** Watches a range from a revision on. */
  subscribe(range: KeyRange, startRevision: bigint, subscriber: Subscriber): Subscription {
    const subscription = new Subscription(subscriber, this.#onCancel);
    if (this.#over) {
      subscription.end(new ExchangeError({ kind: 'cut' }, 'the stream of watches has ended'));
    } else {
      this.#unanswered.push(subscription);
      this.#open?.stream.send(encodeWatchCreation(range, startRevision));
    }
    return subscription;
  }

  /** Ends the stream and all of its watches. */
  end(error: ExchangeError): void {
    this.#open?.stream.cancel();
    this.#end(error);
  }

  /** Ends the stream unless the server has confirmed a watch on it that goes on. */
  endUnlessWatched(error: ExchangeError): void {
    if (this.#live.size === 0) this.end(error);
  }

  #proveLater(): void {
    this.#nextProof = setTimeout(() => this.prove(), PROVE_EVERY_MS).unref();
  }

  /**
   * Ends the stream unless it proves within a few seconds that it tells what changes: the stream
   * answers, and the member serves a read. While nothing is written, a member that hangs would
   * pass with the first alone.
   */
  prove(): void {
    if (this.#over || this.#isProving) return;
    clearTimeout(this.#nextProof);
    this.#toProve = this.#context.revision();
    this.#reading = new AbortController();
    this.#askProgress();
    this.#read();
    this.#compareSoon = setTimeout(() => void this.#compare(), COMPARE_AFTER_MS).unref();
    this.#nextProof = setTimeout(() => {
      this.#nextProof = setTimeout(() => this.#endUnproven(), GRACE_MS).unref();
    }, PROVE_WITHIN_MS).unref();
  }

  /** Ends the stream where the others have gone on without this member. Where they have not, nothing is missed yet. */
  async #compare(): Promise<void> {
    const [open, reading] = [this.#open, this.#reading];
    // A member that serves reads and lags behind is asked again, and catches up.
    if (open === undefined || reading === undefined) return;
    const elsewhere = await this.#context.revisionElsewhere(open, reading.signal).catch(() => 0n);
    if (this.#reading === reading && elsewhere > this.#shown) this.#endUnproven();
  }

  #endUnproven(): void {
    this.end(new ExchangeError({ kind: 'timeout', sent: true }, 'the server did not prove that it tells the watches what changes'));
  }

  get #isProving(): boolean {
    return this.#toProve !== undefined || this.#reading !== undefined;
  }

  /** Asks once more where the member fails, as it may while the cluster elects its leader. */
  readonly #read = (): void => {
    const [open, reading] = [this.#open, this.#reading];
    if (open === undefined || reading === undefined) return;
    this.#context.proveMember(open, reading.signal).then(
      () => {
        if (this.#reading !== reading) return;
        this.#reading = undefined;
        this.#seeProof();
      },
      () => {
        if (this.#reading === reading) this.#readAgain = setTimeout(this.#read, ASK_AGAIN_MS).unref();
      },
    );
  };

  readonly #askProgress = (): void => {
    this.#askAgain = undefined;
    if (!this.#over) this.#open?.stream.send(encodeProgressRequest());
  };

  #seeRevision(revision: bigint): void {
    if (revision > this.#shown) this.#shown = revision;
    if (this.#toProve === undefined) return;
    if (revision < this.#toProve) {
      this.#askAgain ??= setTimeout(this.#askProgress, ASK_AGAIN_MS).unref();
      return;
    }
    this.#toProve = undefined;
    clearTimeout(this.#askAgain);
    this.#askAgain = undefined;
    this.#seeProof();
  }

  #seeProof(): void {
    if (this.#over || this.#isProving) return;
    clearTimeout(this.#nextProof);
    clearTimeout(this.#compareSoon);
    this.#proveLater();
  }

  #onAnswer(answer: WatchAnswer): void {
    this.#seeRevision(answer.revision);
    if (answer.created) this.#onCreated(answer);
    else if (answer.canceled) this.#onCanceled(answer);
    else this.#live.get(answer.id)?.subscriber.heard(answer.events);
  }

  #onCreated(answer: WatchAnswer): void {
    const subscription = this.#unanswered.shift();
    if (subscription === undefined) return;
    if (answer.canceled) {
      subscription.end(watchCanceled(answer.reason, answer.compactRevision));
      this.#endIfIdle();
    } else if (subscription.over) {
      this.#tellCancelled(answer.id);
    } else {
      this.#live.set(answer.id, subscription);
      subscription.begin(answer.id);
    }
  }

  #onCanceled(answer: WatchAnswer): void {
    const subscription = this.#live.get(answer.id);
    if (subscription === undefined) return;
    this.#live.delete(answer.id);
    subscription.end(watchCanceled(answer.reason, answer.compactRevision));
    this.#endIfIdle();
  }

  // One that was not answered yet is cancelled when it is.
  readonly #onCancel = ({ id }: Subscription): void => {
    if (id !== undefined && this.#live.delete(id)) this.#tellCancelled(id);
  };

  // Nobody waits for it: whatever else is to be sent in this turn goes first.
  #tellCancelled(id: bigint): void {
    if (this.#cancelled.push(id) === 1) setImmediate(() => this.#tellAllCancelled());
  }

  #tellAllCancelled(): void {
    const cancelled = this.#cancelled.splice(0);
    this.#endIfIdle();
    if (this.#over) return;
    for (const id of cancelled) this.#open?.stream.send(encodeWatchCancellation(id));
  }

  #endIfIdle(): void {
    // A watch that was given up before it was confirmed may never be.
    if (this.#live.size > 0 || this.#unanswered.some(({ over }) => !over)) return;
    this.#open?.stream.cancel();
    this.#end(undefined);
  }

  #end(error: ExchangeError | undefined): void {
    if (this.#over) return;
    this.#over = true;
    clearTimeout(this.#nextProof);
    clearTimeout(this.#askAgain);
    clearTimeout(this.#readAgain);
    clearTimeout(this.#compareSoon);
    this.#reading?.abort();
    this.#reading = undefined;
    this.#forgetSession();
    this.#context.onEnd(this, error);
    for (const subscription of [...this.#live.values(), ...this.#unanswered]) subscription.end(error);
  }
}
