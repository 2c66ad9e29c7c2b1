/** One gRPC stream for any number of watches. */

import { watchCanceled } from './errors.ts';
import { ExchangeError } from './client/failure.ts';
import type { OpenStream } from './client/client.ts';
import type { StreamHandlers } from './client/stream.ts';
import type { KeyRange } from './protocol/kv.ts';
import { MAX_MESSAGE_BYTES } from './protocol/rpc.ts';
import { decodeWatchAnswer, encodeWatchCancellation, encodeWatchCreation, type WatchAnswer } from './protocol/watch.ts';
import { WatchProof, type WatchProofContext } from './watch-proof.ts';
import { CancelledWatches, Subscription, type Subscriber } from './watch-subscription.ts';

export interface WatchStreamContext extends WatchProofContext {
  /** The stream ended. Called once, without an error if the stream has no watches left. */
  onEnd(stream: WatchStream, error: ExchangeError | undefined): void;
}

export class WatchStream {
  /** Requested and not answered yet. The server answers in this order. */
  readonly #unanswered: Subscription[] = [];
  readonly #live = new Map<bigint, Subscription>();
  readonly #context: WatchStreamContext;
  readonly #cancelled = new CancelledWatches((watches) => this.#cancelAtServer(watches));
  readonly #proof: WatchProof;
  #open: OpenStream | undefined;
  #forgetConnection = (): void => {};
  #over = false;

  constructor(context: WatchStreamContext) {
    this.#context = context;
    this.#proof = new WatchProof(context, () => this.end(unproven()));
  }

  /** The handlers of the gRPC stream. */
  readonly handlers: StreamHandlers = {
    maxBytes: () => MAX_MESSAGE_BYTES,
    message: (message) => this.#onAnswer(decodeWatchAnswer(message)),
    ended: (error) => this.#end(error ?? new ExchangeError({ kind: 'cut' }, 'the server ended the stream of watches')),
  };

  get over(): boolean {
    return this.#over;
  }

  /** The gRPC stream, with its connection and its token. */
  get open(): OpenStream | undefined {
    return this.#open;
  }

  /** Starts to use the gRPC stream. */
  begin(open: OpenStream): void {
    this.#open = open;
    const { connection } = open;
    const cancels = [
      // A server that shuts down waits for its streams to end.
      connection.onLeaving(() => this.end(new ExchangeError({ kind: 'cut' }, 'the server is leaving'))),
      // A call failed on this connection, so the watches must prove that they work.
      connection.onRetired(() => this.#proof.prove()),
    ];
    this.#forgetConnection = () => {
      for (const cancel of cancels) cancel();
    };
    if (!this.#over) this.#proof.start(open);
  }

  /** Requests a watch of a range from a revision on. */
  subscribe(range: KeyRange, startRevision: bigint, subscriber: Subscriber): Subscription {
    const subscription = new Subscription({ range, startRevision }, subscriber, this.#onCancel);
    if (this.#over) {
      subscription.end(new ExchangeError({ kind: 'cut' }, 'the stream of watches has ended'));
      return subscription;
    }
    // A member that never reaches this revision has lost it: its cluster was restored from a
    // backup.
    this.#proof.mustReach(startRevision - 1n);
    const cancelled = this.#cancelled.take(subscription.watched);
    if (cancelled?.id === undefined) {
      this.#unanswered.push(subscription);
      this.#open?.stream.send(encodeWatchCreation(range, startRevision));
    } else {
      this.#live.set(cancelled.id, subscription);
      subscription.takeOver(cancelled);
    }
    return subscription;
  }

  /** Ends the stream and all of its watches. */
  end(error: ExchangeError): void {
    this.#open?.stream.cancel();
    this.#end(error);
  }

  /** Ends the stream unless it has a watch that the server has confirmed. */
  endUnlessWatched(error: ExchangeError): void {
    if (this.#live.size === 0) this.end(error);
  }

  /** Ends the stream if nobody needs any of its watches. */
  endIfIdle(): void {
    // The server may never confirm a watch that was given up.
    if (this.#live.size > 0 || this.#unanswered.some(({ over }) => !over)) return;
    this.#open?.stream.cancel();
    this.#end(undefined);
  }

  #onAnswer(answer: WatchAnswer): void {
    this.#proof.onReported(answer.revision);
    if (answer.created) this.#onCreated(answer);
    else if (answer.canceled) this.#onCanceled(answer);
    else this.#live.get(answer.id)?.receive(answer.events);
  }

  #onCreated(answer: WatchAnswer): void {
    const subscription = this.#unanswered.shift();
    if (subscription === undefined) return;
    if (answer.canceled) {
      subscription.end(watchCanceled(answer.reason, answer.compactRevision));
      this.endIfIdle();
    } else {
      this.#live.set(answer.id, subscription);
      subscription.started(answer.id);
      if (subscription.over) this.#cancelled.add(subscription);
    }
  }

  #onCanceled(answer: WatchAnswer): void {
    const subscription = this.#live.get(answer.id);
    if (subscription === undefined) return;
    this.#live.delete(answer.id);
    this.#cancelled.delete(subscription);
    subscription.end(watchCanceled(answer.reason, answer.compactRevision));
    this.endIfIdle();
  }

  /** A watch that was given up is cancelled when the server confirms it after all. */
  readonly #onCancel = (subscription: Subscription): void => {
    if (subscription.id !== undefined && !this.#over) this.#cancelled.add(subscription);
  };

  #cancelAtServer(watches: readonly Subscription[]): void {
    const ids = watches.flatMap(({ id }) => id ?? []);
    for (const id of ids) this.#live.delete(id);
    this.endIfIdle();
    if (this.#over) return;
    for (const id of ids) this.#open?.stream.send(encodeWatchCancellation(id));
  }

  #end(error: ExchangeError | undefined): void {
    if (this.#over) return;
    this.#over = true;
    this.#proof.stop();
    this.#cancelled.clear();
    this.#forgetConnection();
    this.#context.onEnd(this, error);
    for (const subscription of [...this.#live.values(), ...this.#unanswered]) subscription.end(error);
  }
}

function unproven(): ExchangeError {
  return new ExchangeError({ kind: 'timeout', sent: true }, 'the server did not prove that it reports changes to the watches');
}
