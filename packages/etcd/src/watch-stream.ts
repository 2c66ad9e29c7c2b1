/** One gRPC stream for any number of watches. */

import { GRACE_MS, PROVE_EVERY_MS, PROVE_WITHIN_MS } from '@incumbent/network';

import { watchCanceled } from './errors.ts';
import { ExchangeError } from './client/failure.ts';
import type { OpenStream } from './client/client.ts';
import type { StreamHandlers } from './client/stream.ts';
import type { KeyRange } from './protocol/kv.ts';
import { MAX_MESSAGE_BYTES } from './protocol/rpc.ts';
import {
  decodeWatchAnswer,
  encodeProgressRequest,
  encodeWatchCancellation,
  encodeWatchCreation,
  type WatchAnswer,
} from './protocol/watch.ts';
import { CancelledWatches, Subscription, type Subscriber } from './watch-subscription.ts';

/** After so many ms without a proof, another member is asked for the revision of the cluster. */
const COMPARE_AFTER_MS = 1_000;
/** A member that has not reported a revision yet is asked again after so many ms. */
const ASK_AGAIN_MS = 250;

export interface WatchStreamContext {
  /** The last revision that a linearizable call has shown. The member must reach this revision. */
  revision(): bigint;
  /** Resolves with the revision of a linearizable read that the member has served. */
  proveMember(open: OpenStream, signal: AbortSignal): Promise<bigint>;
  /** Sends the next requests to another member. Resolves with the revision of a read there. */
  revisionElsewhere(open: OpenStream, signal: AbortSignal): Promise<bigint>;
  /** The stream ended. Called once, without an error if the stream has no watches left. */
  onEnd(stream: WatchStream, error: ExchangeError | undefined): void;
}

export class WatchStream {
  /** Requested and not answered yet. The server answers in this order. */
  readonly #unanswered: Subscription[] = [];
  readonly #live = new Map<bigint, Subscription>();
  readonly #context: WatchStreamContext;
  readonly #cancelled = new CancelledWatches((watches) => this.#cancelAtServer(watches));
  #open: OpenStream | undefined;
  #forgetConnection = (): void => {};
  #over = false;
  /** Runs when the next proof is due, and while it is awaited when it is late. */
  #nextProof: NodeJS.Timeout | undefined;
  #askAgain: NodeJS.Timeout | undefined;
  #readAgain: NodeJS.Timeout | undefined;
  #compareSoon: NodeJS.Timeout | undefined;
  /** The highest revision that the member has reported on this stream. */
  #shown = 0n;
  /**
   * The highest revision after which a watch begins. A member that never gets there has lost it:
   * its cluster was restored from a backup.
   */
  #begunAfter = 0n;
  /** The revision that the awaited proof must show. Undefined while no proof is awaited. */
  #toProve: bigint | undefined;
  #reading: AbortController | undefined;

  constructor(context: WatchStreamContext) {
    this.#context = context;
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
      connection.onRetired(() => this.prove()),
    ];
    this.#forgetConnection = () => {
      for (const cancel of cancels) cancel();
    };
    if (!this.#over) this.#proveLater();
  }

  /** Requests a watch of a range from a revision on. */
  subscribe(range: KeyRange, startRevision: bigint, subscriber: Subscriber): Subscription {
    const subscription = new Subscription({ range, startRevision }, subscriber, this.#onCancel);
    if (this.#over) {
      subscription.end(new ExchangeError({ kind: 'cut' }, 'the stream of watches has ended'));
      return subscription;
    }
    this.#begunAfter = later(this.#begunAfter, startRevision - 1n);
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

  #proveLater(): void {
    this.#nextProof = setTimeout(() => this.prove(), PROVE_EVERY_MS).unref();
  }

  /**
   * Ends the stream unless the member proves within some seconds that it reports changes: it must
   * serve a linearizable read, and have reported the revision of that read on this stream. While
   * nothing is written, that revision was reported before, and there is nothing to ask for: etcd
   * 3.5.30 reports no progress then.
   */
  prove(): void {
    if (this.#over || this.#toProve !== undefined) return;
    clearTimeout(this.#nextProof);
    this.#toProve = later(this.#context.revision(), this.#begunAfter);
    this.#reading = new AbortController();
    this.#read();
    this.#seeProof();
    this.#compareSoon = setTimeout(() => void this.#compare(), COMPARE_AFTER_MS).unref();
    this.#nextProof = setTimeout(() => {
      this.#nextProof = setTimeout(() => this.#endUnproven(), GRACE_MS).unref();
    }, PROVE_WITHIN_MS).unref();
  }

  /**
   * Ends the stream if the cluster has changed without this member. Otherwise the watches have
   * missed nothing.
   */
  async #compare(): Promise<void> {
    const [open, reading] = [this.#open, this.#reading];
    // If no read is late, the member serves requests. It only lags behind, and will catch up.
    if (open === undefined || reading === undefined) return;
    const elsewhere = await this.#context.revisionElsewhere(open, reading.signal).catch(() => 0n);
    if (this.#reading === reading && elsewhere > this.#shown) this.#endUnproven();
  }

  #endUnproven(): void {
    this.end(new ExchangeError({ kind: 'timeout', sent: true }, 'the server did not prove that it reports changes to the watches'));
  }

  /** Reads again after a failure, which is normal while the cluster elects its leader. */
  readonly #read = (): void => {
    const [open, reading] = [this.#open, this.#reading];
    if (open === undefined || reading === undefined) return;
    this.#context.proveMember(open, reading.signal).then(
      (revision) => {
        if (this.#reading !== reading || this.#toProve === undefined) return;
        this.#reading = undefined;
        this.#toProve = later(this.#toProve, revision);
        this.#seeProof();
      },
      () => {
        if (this.#reading === reading) this.#readAgain = setTimeout(this.#read, ASK_AGAIN_MS).unref();
      },
    );
  };

  /** Asks until an answer completes the proof. While a watch catches up, there may be no answer. */
  readonly #askProgress = (): void => {
    this.#open?.stream.send(encodeProgressRequest());
    this.#askAgain = setTimeout(this.#askProgress, ASK_AGAIN_MS).unref();
  };

  /** Ends the wait for a proof if it is complete, or asks for what is missing. */
  #seeProof(): void {
    if (this.#over || this.#toProve === undefined) return;
    if (this.#shown < this.#toProve) {
      if (this.#askAgain === undefined) this.#askProgress();
      return;
    }
    clearTimeout(this.#askAgain);
    this.#askAgain = undefined;
    if (this.#reading !== undefined) return;
    this.#toProve = undefined;
    clearTimeout(this.#nextProof);
    clearTimeout(this.#compareSoon);
    this.#proveLater();
  }

  #onAnswer(answer: WatchAnswer): void {
    this.#shown = later(this.#shown, answer.revision);
    this.#seeProof();
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
    clearTimeout(this.#nextProof);
    clearTimeout(this.#askAgain);
    clearTimeout(this.#readAgain);
    clearTimeout(this.#compareSoon);
    this.#reading?.abort();
    this.#reading = undefined;
    this.#cancelled.clear();
    this.#forgetConnection();
    this.#context.onEnd(this, error);
    for (const subscription of [...this.#live.values(), ...this.#unanswered]) subscription.end(error);
  }
}

/** The later one of two revisions. */
function later(one: bigint, other: bigint): bigint {
  return one > other ? one : other;
}
