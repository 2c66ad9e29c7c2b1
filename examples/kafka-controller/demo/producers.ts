/**
 * Clients that send messages all the time, each until it is acknowledged, and read them back at the
 * end.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { now } from '../events.ts';
import { fetchReplyShape, produceReplyShape } from '../messages.ts';
import { call } from '../wire.ts';

const PRODUCERS = 3;
const PAUSE_MS = 10;
const RETRY_EVERY_MS = 50;
const TIMEOUT_MS = 2_000;

export interface ClientOptions {
  /** Addresses of brokers. Any will do, because each knows the leaders. */
  readonly brokers: () => readonly string[];
  readonly partitions: () => readonly string[];
}

export class Producers {
  /** Each message is unique. */
  readonly acknowledged: string[] = [];
  /** The longest time to an acknowledgement, in ms. */
  slowestMs = 0;
  readonly #options: ClientOptions;
  #sent = 0;
  #running: { readonly stop: AbortController; readonly all: readonly Promise<void>[] } | undefined;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  get isOn(): boolean {
    return this.#running !== undefined;
  }

  start(): void {
    if (this.#running !== undefined) return;
    const stop = new AbortController();
    this.#running = { stop, all: Array.from({ length: PRODUCERS }, () => this.#produce(stop.signal)) };
  }

  /** Resolves when no request is in progress. */
  async stop(): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    running?.stop.abort();
    await Promise.all(running?.all ?? []);
  }

  async #produce(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      const partitions = this.#options.partitions();
      const number = (this.#sent += 1);
      const partition = partitions[number % partitions.length];
      if (partition !== undefined) await this.#send(partition, `${partition} ${number}`, number, stop);
      await sleep(PAUSE_MS);
    }
  }

  /**
   * Without an answer the message is sent again, so it may be stored twice. Kafka's producers
   * number messages to prevent that.
   */
  async #send(partition: string, value: string, seed: number, stop: AbortSignal): Promise<void> {
    const from = now();
    for (let attempt = 0; !stop.aborted; attempt += 1) {
      const brokers = this.#options.brokers();
      const url = brokers[(seed + attempt) % brokers.length];
      try {
        if (url === undefined) throw new Error('no broker is known');
        await call(url, '/produce', { partition, values: [value] }, { reply: produceReplyShape, timeoutMs: TIMEOUT_MS });
        this.acknowledged.push(value);
        this.slowestMs = Math.max(this.slowestMs, now() - from);
        return;
      } catch {
        await sleep(RETRY_EVERY_MS);
      }
    }
  }
}

/** All messages of a partition that can be read. Rejects if no broker answers for it. */
export async function readAll(url: string, partition: string): Promise<readonly string[]> {
  const all: string[] = [];
  for (;;) {
    const { values, committed } = await call(
      url,
      '/fetch',
      { partition, from: all.length },
      { reply: fetchReplyShape, timeoutMs: TIMEOUT_MS },
    );
    all.push(...values);
    if (values.length === 0 || all.length >= committed) return all;
  }
}
