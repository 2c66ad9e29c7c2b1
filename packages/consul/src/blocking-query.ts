/**
 * A blocking query, sent again and again, and the watches that share it. The client follows the
 * rules of Consul's documentation: it forgets an index that goes back, never waits behind an index
 * below 1, allows a server to answer without a change and up to a sixteenth of the wait late, and
 * limits how often it sends the query.
 */

import type { Cancel, Clock } from '@incumbent/core';
import { endQuietly, onAbort, sleep, systemRandom } from '@incumbent/core/adapter';
import { endsWatch, RetryGate } from '@incumbent/network';

import type { Client } from './client/client.ts';
import { ExchangeError } from './client/failure.ts';
import { noLeader, toStoreError } from './errors.ts';
import { type AnswerHead, CONSISTENT, type Pair, queryKeys, type Target } from './protocol/kv.ts';
import { type TargetSubscriber, SharedAnswer } from './shared-answer.ts';
import type { TokenBucket } from './token-bucket.ts';

export interface QuerySubscriber extends TargetSubscriber {
  /** The query will never succeed. */
  onFailed(error: unknown): void;
}

export interface QueryContext {
  readonly client: Client;
  readonly clock: Clock;
  /** How long a server may wait for a change before it answers, in ms. */
  readonly waitMs: number;
}

/** The timeout of a read that does not wait for a change. */
const READ_TIMEOUT_MS = 5_000;

/** The answer to a blocking query may take this much longer than the wait and its sixteenth. */
const LATE_MS = 1_000;

/**
 * The pause after a change. Changes come in groups: the leader's key is deleted, then its
 * successor's key is written. During the pause, the servers serve the members that claim the
 * leadership. One answer then shows the whole group of changes.
 */
const SETTLE_MS = 100;

/** The pause before a read for new subscribers, who also come in groups. */
const JOIN_MS = 5;

/** A server that has not heard from the leader for longer than this may be behind. */
const MAX_LAST_CONTACT_MS = 1_000;

export class BlockingQuery {
  readonly #context: QueryContext;
  readonly #target: Target;
  readonly #bucket: TokenBucket;
  /** Not shared with other queries: an answer that cannot be read concerns this query only. */
  readonly #retryGate: RetryGate;
  readonly #ended = new AbortController();
  readonly #subscribers = new Set<QuerySubscriber>();
  /** Subscribers that have not been shown a state yet. */
  readonly #newcomers = new Set<QuerySubscriber>();
  /** Cancels the timer of `#boundSilence`. Undefined between an answer and the next request. */
  #cancelStale: Cancel | undefined;
  /** Aborts when a newcomer needs a read now. Renewed for each request. */
  #joined = new AbortController();
  /** The index to wait behind; 0 if no state is known. */
  #index = 0;
  #isRunning = false;
  /** How long to wait before the next request: after a change, and for more newcomers. */
  #settleMs = 0;
  #joinMs = 0;

  constructor(context: QueryContext, target: Target, bucket: TokenBucket) {
    this.#context = context;
    this.#target = target;
    this.#bucket = bucket;
    this.#retryGate = new RetryGate(context.clock, systemRandom);
  }

  get subscribers(): number {
    return this.#subscribers.size + this.#newcomers.size;
  }

  /** Adds a subscriber. The query reads the first state for it after this call. */
  add(subscriber: QuerySubscriber): void {
    this.#newcomers.add(subscriber);
    if (this.#isRunning) endQuietly(this.#joined);
    else void this.#run();
  }

  /** Removes a subscriber. A query without subscribers ends, and is never used again. */
  remove(subscriber: QuerySubscriber): void {
    this.#subscribers.delete(subscriber);
    this.#newcomers.delete(subscriber);
    if (this.subscribers > 0) return;
    this.#endSilence();
    endQuietly(this.#ended);
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    const { signal } = this.#ended;
    while (!signal.aborted) {
      await this.#waitForTurn(signal);
      if (signal.aborted) return;
      try {
        await (this.#index === 0 || this.#newcomers.size > 0 ? this.#readNow(signal) : this.#waitForChange(signal));
      } catch (error) {
        if (!signal.aborted) this.#onFailure(error);
      }
    }
  }

  /** Waits until the next request may be sent. */
  async #waitForTurn(signal: AbortSignal): Promise<void> {
    const { clock } = this.#context;
    this.#joined = new AbortController();
    const waitMs = Math.max(this.#bucket.take(), this.#retryGate.leftMs, this.#newcomers.size > 0 ? this.#joinMs : 0);
    this.#joinMs = JOIN_MS;
    if (waitMs > 0) await sleep(clock, waitMs, signal);
    const settleMs = this.#settleMs;
    this.#settleMs = 0;
    if (settleMs > 0 && this.#newcomers.size === 0) await this.#untilJoined(signal, (until) => sleep(clock, settleMs, until));
  }

  /** Reads at once, from a leader that a quorum has confirmed. */
  async #readNow(signal: AbortSignal): Promise<void> {
    const newcomers = [...this.#newcomers];
    const answer = new SharedAnswer([...this.#subscribers, ...newcomers]);
    const index = await this.#read(CONSISTENT, 0, answer, READ_TIMEOUT_MS, signal);
    if (signal.aborted) return;
    for (const subscriber of newcomers) if (this.#newcomers.delete(subscriber)) this.#subscribers.add(subscriber);
    this.#index = Math.max(index, 1);
    answer.end();
  }

  async #waitForChange(signal: AbortSignal): Promise<void> {
    const since = this.#index;
    const query = { index: String(since), wait: `${this.#context.waitMs}ms` };
    const answer = new SharedAnswer(this.#subscribers);
    await this.#untilJoined(signal, async (until) => {
      try {
        const index = await this.#read(query, since + 1, answer, this.#silenceMs, until);
        if (until.aborted || index === since) return;
        // The answer may be older than the last one. The next request is a linearizable read.
        if (index < since) this.#index = 0;
        else {
          this.#index = index;
          this.#settleMs = SETTLE_MS;
          answer.end();
        }
      } catch (error) {
        if (!until.aborted) throw error;
      } finally {
        // Some watches may have been shown a part of the answer, so the next one must not be older.
        if (until.aborted) this.#index = 0;
      }
    });
  }

  /**
   * Runs a task with a signal that aborts when the query ends or a newcomer joins.
   * `AbortSignal.any` would keep each of its results as long as the query lives.
   */
  async #untilJoined(signal: AbortSignal, task: (until: AbortSignal) => Promise<void>): Promise<void> {
    const until = new AbortController();
    const cancels = [signal, this.#joined.signal].map((one) => onAbort(one, () => endQuietly(until)));
    try {
      await task(until.signal);
    } finally {
      for (const cancel of cancels) cancel();
    }
  }

  /**
   * Resolves with the index of the answer. The answer takes no pairs if the index is below
   * `minIndex`: they show nothing new.
   */
  async #read(
    query: Readonly<Record<string, string>>,
    minIndex: number,
    answer: SharedAnswer,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<number> {
    this.#boundSilence();
    const onHead = (head: AnswerHead): ((pair: Pair) => void) | undefined => {
      if (!isConfirmed(head)) return undefined;
      // The pairs that follow are a new state, so only the read's own timeout applies to them.
      this.#endSilence();
      return head.index >= minIndex ? (pair) => answer.take(pair) : undefined;
    };
    const head = await queryKeys(this.#context.client, this.#target, query, onHead, { timeoutMs, signal, background: true });
    if (!isConfirmed(head)) throw noLeader();
    this.#endSilence();
    this.#retryGate.reset();
    return head.index;
  }

  /** The longest time without an answer after which the last state still counts, in ms. */
  get #silenceMs(): number {
    const { waitMs } = this.#context;
    return waitMs + waitMs / 16 + LATE_MS;
  }

  /**
   * The subscribers become stale if no confirmed answer arrives within `#silenceMs` of the first
   * request after the last answer. A read for newcomers replaces a wait: it gets the rest of that
   * time, although the read itself may take longer.
   */
  #boundSilence(): void {
    this.#cancelStale ??= this.#context.clock.schedule(this.#silenceMs, () => {
      const late = new ExchangeError({ kind: 'timeout', sent: true }, `no answer within ${Math.ceil(this.#silenceMs)} ms`);
      for (const subscriber of [...this.#subscribers]) subscriber.onStale(toStoreError(late, 'watch'));
    });
  }

  #endSilence(): void {
    this.#cancelStale?.();
    this.#cancelStale = undefined;
  }

  #onFailure(thrown: unknown): void {
    this.#index = 0;
    this.#endSilence();
    const error = toStoreError(thrown, 'watch');
    const all = [...this.#subscribers, ...this.#newcomers];
    if (endsWatch(error)) {
      for (const subscriber of all) subscriber.onFailed(error);
      return;
    }
    this.#retryGate.hold();
    for (const subscriber of all) subscriber.onStale(error);
  }
}

function isConfirmed({ knownLeader, lastContactMs }: AnswerHead): boolean {
  return knownLeader && lastContactMs <= MAX_LAST_CONTACT_MS;
}
