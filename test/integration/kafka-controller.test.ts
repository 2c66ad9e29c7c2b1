import { join } from 'node:path';
import { makeScratch, type Scratch, until } from '@incumbent/test-support';
import { openStore, type Store } from 'incumbent';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Cluster, heardOf } from '../../examples/kafka-controller/demo/cluster.ts';
import { Producers, readAll } from '../../examples/kafka-controller/demo/producers.ts';
import { decode, PARTITIONS } from '../../examples/kafka-controller/keys.ts';
import { nothing } from '../../examples/kafka-controller/messages.ts';
import type { Partition } from '../../examples/kafka-controller/partitions.ts';
import { call } from '../../examples/kafka-controller/wire.ts';

const PATIENCE_MS = 60_000;
const TTL_MS = 3_000;
const CALL = { timeoutMs: 2_500 };
const PARTITION_NAMES = Array.from({ length: 6 }, (_, index) => `orders-${index}`);

let scratch: Scratch;
let store: Store;
let cluster: Cluster;
let producers: Producers | undefined;
const urls = new Map<string, string>();

beforeEach(async () => {
  scratch = await makeScratch('kafka');
  const url = `sqlite:${join(scratch.path, 'state.db')}`;
  store = await openStore(url);
  cluster = new Cluster({ url, ttlMs: TTL_MS, folder: scratch.path, signal: new AbortController().signal });
});
afterEach(async () => {
  await producers?.stop();
  producers = undefined;
  urls.clear();
  await cluster.close();
  await store.close();
  await scratch.remove();
});

async function start(...brokers: readonly string[]): Promise<void> {
  const processes = brokers.map((broker) => cluster.start(broker));
  for (const [index, process] of processes.entries()) urls.set(brokers[index]!, await process.ready);
}

function alive(): readonly string[] {
  return cluster.alive.flatMap(({ broker }) => urls.get(broker) ?? []);
}

/** The last one that said so, if it lives. */
function controller(): string | undefined {
  const last = heardOf(cluster.heard, 'elected').at(-1)?.broker;
  return cluster.alive.some(({ broker, isPaused }) => broker === last && !isPaused) ? last : undefined;
}

async function partitions(): Promise<ReadonlyMap<string, Partition>> {
  const entries = await store.list(PARTITIONS, CALL);
  return new Map(entries.map((entry) => [entry.name, decode(entry).partition]));
}

/** Nothing moves, everyone is in sync, and the preferred replica leads. */
async function settled(): Promise<void> {
  const isSettled = async (): Promise<boolean> => {
    const all = [...(await partitions()).values()];
    return (
      all.every(({ target, leader, replicas, isr }) => target === null && leader === replicas[0] && isr.length === 3) && all.length === 6
    );
  };
  await until(isSettled, { what: 'all partitions are in order', withinMs: PATIENCE_MS });
}

/** Every partition has another leader than this one, which has been told so. */
async function ledBy({ than }: { readonly than: string }): Promise<boolean> {
  const led = heardOf(cluster.heard, 'leads');
  return [...(await partitions())].every(
    ([name, { leader, leaderEpoch }]) =>
      leader !== than && led.some(({ broker, event }) => broker === leader && event.partition === name && event.epoch === leaderEpoch),
  );
}

async function begin(...brokers: readonly string[]): Promise<void> {
  await start(...brokers);
  const topic = { topic: 'orders', partitions: 6, replicationFactor: 3 };
  const create = async (): Promise<true> => {
    await call(alive()[0] ?? '', '/create-topic', topic, { reply: nothing, timeoutMs: 2_000 });
    return true;
  };
  await until(create, { what: 'a topic', withinMs: PATIENCE_MS });
  await settled();
  producers = new Producers({ brokers: alive, partitions: () => PARTITION_NAMES });
}

/** Every message that was acknowledged can be read. Waits for some load first. */
async function expectNothingLost(): Promise<void> {
  const load = producers!;
  const before = load.acknowledged.length;
  await until(() => load.acknowledged.length > before + 20, { what: 'messages', withinMs: PATIENCE_MS });
  await load.stop();
  const read = new Set<string>();
  for (const partition of PARTITION_NAMES) for (const message of await readAll(alive()[0]!, partition)) read.add(message);
  expect(load.acknowledged.filter((message) => !read.has(message))).toEqual([]);
}

/** Waits until the controller stands still at the moment that it was told. */
async function stopped(since: number): Promise<string> {
  const heard = await cluster.hear('stopping', { withinMs: PATIENCE_MS, since });
  expect(heard).toBeDefined();
  return heard!.broker;
}

/** Whoever is the controller stands still at its nth write from now on. */
function armAll(nth: number): void {
  for (const process of cluster.alive) process.command({ type: 'stopBefore', moment: 'write', nth });
}

describe('the example of a controller', { timeout: 180_000 }, () => {
  it('completes a reassignment whose controller is killed in its middle, and the next one, too, and loses no message', async () => {
    await begin('b1', 'b2', 'b3', 'b4');
    const since = cluster.heard.length;
    // Each controller makes one write, the first of which plans the moves, and dies before the second one.
    armAll(2);
    await start('b5');
    const first = await stopped(since);
    const moving = async (): Promise<number> => [...(await partitions()).values()].filter(({ target }) => target !== null).length;
    expect(await moving()).toBeGreaterThan(0);
    const sinceSecond = cluster.heard.length;
    cluster.running(first).kill();
    const second = await stopped(sinceSecond);
    expect(second).not.toBe(first);
    expect(await moving()).toBeGreaterThan(0);
    const sinceThird = cluster.heard.length;
    armAll(Infinity);
    cluster.running(second).kill();
    expect(await cluster.hear('elected', { withinMs: PATIENCE_MS, since: sinceThird })).toBeDefined();
    await start(first, second);
    await settled();
    const keeps = [...(await partitions()).values()].filter(({ replicas }) => replicas.includes('b5'));
    expect(keeps.length).toBeGreaterThanOrEqual(3);
    await expectNothingLost();
  });

  it.each(['write', 'request'] as const)('refuses the stale %s of a controller that was paused, to no effect', async (moment) => {
    await begin('b1', 'b2', 'b3');
    const since = cluster.heard.length;
    const zombie = controller()!;
    cluster.running(zombie).command({ type: 'stopBefore', moment });
    const late = { topic: 'late', partitions: 1, replicationFactor: 2 };
    call(urls.get(zombie)!, '/create-topic', late, { reply: nothing, timeoutMs: 2_000 }).catch(() => {});
    expect(await stopped(since)).toBe(zombie);
    await until(async () => ledBy({ than: zombie }), { what: 'others that have been told to lead its partitions', withinMs: PATIENCE_MS });
    const by = moment === 'write' ? 'store' : 'broker';
    const before = await partitions();
    cluster.running(zombie).resume();
    const refusals = (): boolean => heardOf(cluster.heard, 'refused').some(({ event }) => event.by === by && event.stale === 1n);
    await until(refusals, { what: 'a refusal', withinMs: PATIENCE_MS });
    // Told by the request of the one that leads, if at all: a stale write leaves nothing.
    expect((await partitions()).has('late-0')).toBe(moment === 'request');
    expect(before.has('late-0')).toBe(moment === 'request');
    await expectNothingLost();
  });

  it('elects leaders in sync for those of a broker that is cut off, takes it back, and refuses what it wrote meanwhile', async () => {
    await begin('b1', 'b2', 'b3', 'b4');
    const victim = cluster.alive.map(({ broker }) => broker).find((broker) => broker !== controller())!;
    cluster.running(victim).command({ type: 'cutOff' });
    const isReplaced = async (): Promise<boolean> =>
      [...(await partitions()).values()].every(({ leader, isr }) => leader !== victim && !isr.includes(victim));
    await until(isReplaced, { what: 'others lead its partitions', withinMs: PATIENCE_MS });
    cluster.running(victim).command({ type: 'heal' });
    const isBack = async (): Promise<boolean> =>
      [...(await partitions()).values()].every(({ leader, replicas, isr }) => leader === replicas[0] && isr.length === 3);
    await until(isBack, { what: 'it is in sync again', withinMs: PATIENCE_MS });
    await expectNothingLost();
  });
});
