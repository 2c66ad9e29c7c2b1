/** Clients: they send messages without a pause, each until it is acknowledged; and read them back in the end. */

import { setTimeout as sleep } from 'node:timers/promises';
import { now } from '../events.ts';
import { fetchReplyShape, produceReplyShape } from '../messages.ts';
import { call } from '../wire.ts';

const PRODUCERS = 3;
const PAUSE_MS = 10;
const RETRY_EVERY_MS = 50;
const TIMEOUT_MS = 2_000;

export interface ClientOptions {
  /** Addresses of brokers; any will do, as each knows who leads. */
  readonly brokers: () => readonly string[];
  readonly partitions: () => readonly string[];
}

export class Producers {
  /** Each message is unique. */
  readonly acknowledged: string[] = [];
  /** The longest that one took to be acknowledged. */
  slowestMs = 0;
  readonly #options: ClientOptions;
  readonly #stopped = new AbortController();
  readonly #running: readonly Promise<void>[];

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#running = Array.from({ length: PRODUCERS }, (_, index) => this.#produce(index));
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await Promise.all(this.#running);
  }

  async #produce(producer: number): Promise<void> {
    for (let number = 0; !this.#stopped.signal.aborted; number += 1) {
      const partitions = this.#options.partitions();
      const partition = partitions[number % partitions.length];
      if (partition !== undefined) await this.#send(partition, `${partition} ${producer} ${number}`, producer + number);
      await sleep(PAUSE_MS);
    }
  }

  /** Whoever gets no answer does not know: it is sent again, and may be there twice. Kafka's producers number their messages to prevent that. */
  async #send(partition: string, value: string, seed: number): Promise<void> {
    const from = now();
    for (let attempt = 0; !this.#stopped.signal.aborted; attempt += 1) {
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

/** Every message of a partition that can be read. Rejects when no broker answers for it. */
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
