/** A cluster of the example's brokers under load, for tests and checks. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { isStopped, makeScratch, type Scratch, until } from '@incumbent/test-support';
import { openStore, type Store } from 'incumbent';
import { Cluster, heardOf } from '../../examples/kafka-controller/demo/cluster.ts';
import { Producers, readAll } from '../../examples/kafka-controller/demo/producers.ts';
import { decode, PARTITIONS } from '../../examples/kafka-controller/keys.ts';
import { nothing } from '../../examples/kafka-controller/messages.ts';
import type { Partition } from '../../examples/kafka-controller/partitions.ts';
import { call } from '../../examples/kafka-controller/wire.ts';

export const WAIT_MS = 60_000;
const TTL_MS = 3_000;
const CALL = { timeoutMs: 2_500 };
const PARTITION_NAMES = Array.from({ length: 6 }, (_, index) => `orders-${index}`);

export class KafkaCluster implements AsyncDisposable {
  readonly cluster: Cluster;
  readonly producers: Producers;
  readonly store: Store;
  readonly #scratch: Scratch;

  private constructor(scratch: Scratch, store: Store, cluster: Cluster) {
    this.#scratch = scratch;
    this.store = store;
    this.cluster = cluster;
    this.producers = new Producers({ brokers: () => this.urls, partitions: () => PARTITION_NAMES });
  }

  /** On the store of this URL. Default: SQLite. */
  static async open(url?: string): Promise<KafkaCluster> {
    const scratch = await makeScratch('kafka');
    const at = url ?? `sqlite:${join(scratch.path, 'state.db')}`;
    const store = await openStore(at);
    const ttlMs = Math.max(TTL_MS, store.capabilities.minTtlMs);
    return new KafkaCluster(scratch, store, new Cluster({ url: at, ttlMs, folder: scratch.path, signal: new AbortController().signal }));
  }

  get urls(): readonly string[] {
    return this.cluster.alive.flatMap(({ broker }) => this.cluster.urls.get(broker) ?? []);
  }

  /** The last broker that reported to be the controller, if it lives. */
  get controller(): string | undefined {
    const last = heardOf(this.cluster.heard, 'elected').at(-1)?.broker;
    return this.cluster.alive.some(({ broker, isPaused }) => broker === last && !isPaused) ? last : undefined;
  }

  /**
   * Resumes a broker that has reported that it stops. It reports this right before it stops, and a
   * signal to continue that arrives in between is lost.
   */
  async resume(broker: string): Promise<void> {
    const process = this.cluster.running(broker);
    await until(async () => process.pid !== undefined && isStopped(process.pid), { what: `${broker} stands still` });
    process.resume();
  }

  async start(...brokers: readonly string[]): Promise<void> {
    const processes = brokers.map((broker) => this.cluster.start(broker));
    for (const process of processes) await process.ready;
  }

  /**
   * Starts brokers with a topic of six partitions, all replicas in sync, and producers that send
   * messages.
   */
  async begin(...brokers: readonly string[]): Promise<void> {
    await this.start(...brokers);
    const topic = { topic: 'orders', partitions: 6, replicationFactor: 3 };
    const create = async (): Promise<true> => {
      await call(this.urls[0] ?? '', '/create-topic', topic, { reply: nothing, timeoutMs: 2_000 });
      return true;
    };
    await until(create, { what: 'a topic', withinMs: WAIT_MS });
    await this.settled();
    this.producers.start();
  }

  async partitions(): Promise<ReadonlyMap<string, Partition>> {
    const entries = await this.store.list(PARTITIONS, CALL);
    return new Map(entries.map((entry) => [entry.name, decode(entry).partition]));
  }

  /** How many partitions are moving from one broker to another. */
  async moving(): Promise<number> {
    return [...(await this.partitions()).values()].filter(({ target }) => target !== null).length;
  }

  /** Waits until nothing moves, all replicas are in sync, and the preferred replicas lead. */
  async settled(): Promise<void> {
    const isSettled = async (): Promise<boolean> => {
      const all = [...(await this.partitions()).values()];
      const isFine = ({ target, leader, replicas, isr }: Partition): boolean =>
        target === null && leader === replicas[0] && isr.length === replicas.length;
      return all.every(isFine) && all.length >= PARTITION_NAMES.length;
    };
    await until(isSettled, { what: 'all partitions are in order', withinMs: WAIT_MS });
  }

  /** See `Cluster.isLedBy`. */
  async ledBy(others: { readonly than: string }): Promise<boolean> {
    return this.cluster.isLedBy(others, await this.partitions());
  }

  /**
   * Stops the load after some more messages, and reads everything. Throws if an acknowledged
   * message is missing.
   */
  async checkNothingLost(): Promise<number> {
    const { acknowledged } = this.producers;
    const before = acknowledged.length;
    await until(() => acknowledged.length > before + 20, { what: 'messages', withinMs: WAIT_MS });
    await this.producers.stop();
    const read = new Set<string>();
    for (const partition of PARTITION_NAMES) for (const message of await readAll(this.urls[0]!, partition)) read.add(message);
    const lost = acknowledged.filter((message) => !read.has(message));
    assert.deepEqual(lost, []);
    return acknowledged.length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.producers.stop();
    await this.cluster.close();
    await this.store.close();
    await this.#scratch.remove();
  }
}
