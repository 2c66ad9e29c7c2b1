/**
 * One blocking query, asked again and again, and those who look through it. The rules of Consul's documentation for it: an index that goes back is
 * forgotten, and none below 1 is waited behind; servers may answer a sixteenth of the wait late, and without a change; and nobody asks too often.
 */

import type { Clock } from '@incumbent/core';
import { endQuietly, onAbort, StoreError } from '@incumbent/core/adapter';

import { CONSISTENT, readKeys, type Reading, type Target } from './protocol/kv.ts';
import type { Bucket } from './token-bucket.ts';
import { endsWatch, toStoreError } from './errors.ts';
import type { Client } from './client/client.ts';
import { pause } from './pause.ts';
import type { Recovery } from './recovery.ts';
import { Snapshot } from './watch-state.ts';

/** Whoever looks through a query. */
export interface Viewer {
  /** What is there now. */
  show(snapshot: Snapshot): void;
  /** It is no longer known what is there. */
  lose(cause: StoreError): void;
  /** It will never be known. */
  fail(error: unknown): void;
}

export interface QueryContext {
  readonly client: Client;
  readonly clock: Clock;
  readonly recovery: Recovery;
  /** How long a server may hold an answer, in ms. */
  readonly waitMs: number;
}

/** How long a read may take that waits for nothing. */
const READ_MS = 5_000;

/** How much later than it should an answer may come that a server has held. */
const LATE_MS = 1_000;

/**
 * After a change, before it asks again. Changes come together: a leader's key goes, and the next one's comes. What the first was waited for is under way
 * meanwhile, and needs the servers more than those who only look on.
 */
const SETTLE_MS = 100;

/** Before it looks for those who have joined: they come together, too. */
const JOIN_MS = 5;

/** A server that has not heard from the leader for so long may be behind. */
const OLDEST_CONTACT_MS = 1_000;

export class Query {
  readonly #context: QueryContext;
  readonly #target: Target;
  readonly #bucket: Bucket;
  readonly #over = new AbortController();
  readonly #viewers = new Set<Viewer>();
  /** Have seen nothing yet. */
  readonly #waiting = new Set<Viewer>();
  /** Ends this turn's waiting: somebody wants to see what is there now. */
  #nudge = new AbortController();
  /** 0: nothing is known. */
  #index = 0;
  #isRunning = false;
  /** How long the last answer is to settle, and the next who join are waited for: the first is not. */
  #settleMs = 0;
  #joinMs = 0;

  constructor(context: QueryContext, target: Target, bucket: Bucket) {
    this.#context = context;
    this.#target = target;
    this.#bucket = bucket;
  }

  get viewers(): number {
    return this.#viewers.size + this.#waiting.size;
  }

  /** The first that it is shown is no older than this call. */
  add(viewer: Viewer): void {
    this.#waiting.add(viewer);
    if (this.#isRunning) endQuietly(this.#nudge);
    else void this.#run();
  }

  remove(viewer: Viewer): void {
    this.#viewers.delete(viewer);
    this.#waiting.delete(viewer);
    if (this.viewers === 0) endQuietly(this.#over);
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    const { signal } = this.#over;
    while (!signal.aborted) {
      await this.#turn(signal);
      if (signal.aborted) return;
      try {
        await (this.#index === 0 || this.#waiting.size > 0 ? this.#look(signal) : this.#follow(signal));
        this.#context.recovery.reset();
      } catch (error) {
        if (!signal.aborted) this.#stumble(error);
      }
    }
  }

  async #turn(signal: AbortSignal): Promise<void> {
    const { clock, recovery } = this.#context;
    this.#nudge = new AbortController();
    const waitMs = Math.max(this.#bucket.take(), recovery.leftMs, this.#waiting.size > 0 ? this.#joinMs : 0);
    this.#joinMs = JOIN_MS;
    if (waitMs > 0) await pause(clock, waitMs, signal);
    const settleMs = this.#settleMs;
    this.#settleMs = 0;
    if (settleMs > 0 && this.#waiting.size === 0) await this.#settle(settleMs, signal);
  }

  /** Not by `AbortSignal.any`: what it makes is kept as long as the longest-lived of its signals, which is the query. */
  async #settle(settleMs: number, signal: AbortSignal): Promise<void> {
    const ended = new AbortController();
    const stops = [signal, this.#nudge.signal].map((one) => onAbort(one, () => endQuietly(ended)));
    await pause(this.#context.clock, settleMs, ended.signal);
    for (const stop of stops) stop();
  }

  /** Reads at once, from a leader that a quorum has confirmed. */
  async #look(signal: AbortSignal): Promise<void> {
    const waiting = [...this.#waiting];
    const reading = await this.#read(CONSISTENT, READ_MS, signal);
    if (signal.aborted) return;
    for (const viewer of waiting) if (this.#waiting.delete(viewer)) this.#viewers.add(viewer);
    this.#show(reading);
  }

  /** Waits for a change. */
  async #follow(signal: AbortSignal): Promise<void> {
    const { waitMs } = this.#context;
    const ended = new AbortController();
    const stops = [signal, this.#nudge.signal].map((one) => onAbort(one, () => endQuietly(ended)));
    try {
      const query = { index: String(this.#index), wait: `${waitMs}ms` };
      const reading = await this.#read(query, waitMs + waitMs / 16 + LATE_MS, ended.signal);
      if (ended.signal.aborted) return;
      // What it shows may be of before: the next look knows.
      if (reading.index < this.#index) this.#index = 0;
      if (reading.index <= this.#index || this.#index === 0) return;
      this.#settleMs = SETTLE_MS;
      this.#show(reading);
    } catch (error) {
      if (!ended.signal.aborted) throw error;
    } finally {
      for (const stop of stops) stop();
    }
  }

  async #read(query: Readonly<Record<string, string>>, timeoutMs: number, signal: AbortSignal): Promise<Reading> {
    const reading = await readKeys(this.#context.client, this.#target, query, { timeoutMs, signal, background: true });
    if (reading.knownLeader && reading.lastContactMs <= OLDEST_CONTACT_MS) return reading;
    throw new StoreError('UNAVAILABLE', 'unknown', 'consul watch: the servers have no leader');
  }

  #show({ pairs, index }: Reading): void {
    this.#index = Math.max(index, 1);
    const snapshot = new Snapshot(pairs);
    for (const viewer of [...this.#viewers]) viewer.show(snapshot);
  }

  #stumble(thrown: unknown): void {
    this.#index = 0;
    const error = toStoreError(thrown, 'watch');
    const all = [...this.#viewers, ...this.#waiting];
    if (endsWatch(error)) {
      for (const viewer of all) viewer.fail(error);
      return;
    }
    this.#context.recovery.hold();
    for (const viewer of all) viewer.lose(error);
  }
}
