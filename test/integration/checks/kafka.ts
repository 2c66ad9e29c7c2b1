/** The example of a controller: the effect of its failover on partitions and their messages. */

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { startEtcd, until } from '@incumbent/test-support';
import { heardOf } from '../../../examples/kafka-controller/demo/cluster.ts';
import { now } from '../../../examples/kafka-controller/events.ts';
import { nothing } from '../../../examples/kafka-controller/messages.ts';
import { call } from '../../../examples/kafka-controller/wire.ts';
import { KafkaCluster, WAIT_MS } from '../kafka-cluster.ts';
import type { Check, Figures } from './check.ts';
import { freshNamespace, storeUrl } from './pair.ts';

const BROKERS = ['broker-1', 'broker-2', 'broker-3', 'broker-4', 'broker-5'];

/**
 * Kills the controller. Measures how long it takes until there is another one, and until every
 * partition has a leader.
 */
async function kill(kafka: KafkaCluster, withinMs: number): Promise<Figures> {
  const { cluster } = kafka;
  const victim = kafka.controller!;
  const since = cluster.heard.length;
  const at = now();
  cluster.running(victim).kill();
  await until(() => kafka.ledBy({ than: victim }), { what: 'leaders for all partitions', withinMs: WAIT_MS });
  const heard = cluster.heard.slice(since);
  const leads = heardOf(heard, 'leads').map(({ event }) => event.at - at);
  const figures = { controllerMs: heardOf(heard, 'elected')[0]!.event.at - at, leadersMs: Math.max(0, ...leads) };
  assert.ok(figures.leadersMs < withinMs, `partitions had no leader for ${figures.leadersMs} ms`);
  await kafka.start(victim);
  await kafka.settled();
  return figures;
}

/**
 * Stops the controller right before a write to the store, and resumes it when another one has been
 * elected. The store must reject the write.
 */
async function pause(kafka: KafkaCluster, index: number): Promise<Figures> {
  const { cluster } = kafka;
  const zombie = kafka.controller!;
  const since = cluster.heard.length;
  const topic = `late-${index}`;
  await cluster.order(zombie, { type: 'stopBefore', moment: 'write' }, WAIT_MS);
  call(
    cluster.urls.get(zombie)!,
    '/create-topic',
    { topic, partitions: 1, replicationFactor: 3 },
    { reply: nothing, timeoutMs: 2_000 },
  ).catch(() => {});
  await until(() => kafka.ledBy({ than: zombie }), { what: 'leaders for all partitions', withinMs: WAIT_MS });
  await kafka.resume(zombie);
  const refusals = (): number => heardOf(cluster.heard.slice(since), 'refused').filter(({ event }) => event.by === 'store').length;
  await until(() => refusals() > 0, { what: 'a refusal', withinMs: WAIT_MS });
  await kafka.settled();
  assert.equal((await kafka.partitions()).has(`${topic}-0`), false);
  return { refusedByStore: refusals(), refusedByReplicas: heardOf(cluster.heard.slice(since), 'refused').length - refusals() };
}

function check(
  name: string,
  { on, runs, url }: { on: string; runs: number; url: () => Promise<AsyncDisposable & { url?: string }> },
): Check {
  return {
    name,
    claim: `With the example's controller killed on ${on}, every partition has a live leader again within the store's expiry plus 1 s; a paused controller's write is refused; no acknowledged message is lost.`,
    method:
      `${BROKERS.length} brokers, six partitions with three replicas, under load, ttl 3 s; the controller, which leads partitions, too, is killed at a random phase, and started again; ` +
      'the next one is stopped right before a write, and wakes when another one has been elected. Each run has a cluster of its own, and reads back every message that was acknowledged. ' +
      'controller and leaders: from before the kill to the first word of the next controller, and to the last of the new leaders.',
    runs,
    parallel: 1,
    open: async () => ({
      run: async (index, { random, isTimed }) => {
        await using place = await url();
        await using kafka = await KafkaCluster.open(place.url);
        await kafka.begin(...BROKERS);
        const expiryMs = kafka.store.capabilities.expiresWithinMs(kafka.cluster.options.ttlMs);
        kafka.producers.start();
        await sleep(500 + random() * 1_000);
        const killed = await kill(kafka, isTimed ? expiryMs + 1_000 : WAIT_MS);
        const paused = await pause(kafka, index);
        return { figures: { ...killed, ...paused, acknowledged: await kafka.checkNothingLost() } };
      },
      [Symbol.asyncDispose]: async () => {},
    }),
  };
}

export const kafkaSqlite: Check = check('kafka-controller', {
  on: 'sqlite',
  runs: 50,
  url: async () => ({ [Symbol.asyncDispose]: async () => {} }),
});

export const kafkaEtcd: Check = check('kafka-controller-etcd', {
  on: 'etcd',
  runs: 20,
  url: async () => {
    const etcd = await startEtcd();
    return { url: storeUrl([etcd.url], freshNamespace()), [Symbol.asyncDispose]: async () => etcd.stop() };
  },
});
