import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '@incumbent/test-support';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Cluster, heardOf } from '../../examples/kafka-controller/demo/cluster.ts';
import { nothing } from '../../examples/kafka-controller/messages.ts';
import { call } from '../../examples/kafka-controller/wire.ts';
import { KafkaCluster, WAIT_MS } from './kafka-cluster.ts';

let kafka: KafkaCluster;
let cluster: Cluster;
beforeEach(async () => {
  kafka = await KafkaCluster.open();
  ({ cluster } = kafka);
});
afterEach(async () => kafka[Symbol.asyncDispose]());

/** Waits until the controller stops at the moment that it was told. */
async function stopped(since: number): Promise<string> {
  const heard = await cluster.waitForEvent('stopping', { withinMs: WAIT_MS, since });
  expect(heard).toBeDefined();
  return heard!.broker;
}

/**
 * Lets the controller make one write after the other until it stops while partitions are moving.
 */
async function stoppedWhileMoving(since: number): Promise<string> {
  for (let from = since; ; from += 1) {
    const isStop = (): number | false => {
      const index = cluster.heard.findIndex(({ event }, at) => at >= from && event.type === 'stopping');
      return index >= 0 && index;
    };
    from = await until(isStop, { what: 'a controller that stands still', withinMs: WAIT_MS });
    const { broker } = cluster.heard[from]!;
    if ((await kafka.moving()) > 0) return broker;
    void cluster.running(broker).command({ type: 'stopBefore', moment: 'write' });
    await kafka.resume(broker);
  }
}

// Leases expire in these tests.
describe('the example of a controller', { timeout: 180_000 }, () => {
  it('completes a reassignment whose controller is killed in its middle, and the next one, too, and loses no message', async () => {
    await kafka.begin('b1', 'b2', 'b3', 'b4');
    const since = cluster.heard.length;
    await Promise.all(cluster.alive.map(({ broker }) => cluster.order(broker, { type: 'stopBefore', moment: 'write' }, WAIT_MS)));
    await kafka.start('b5');
    const first = await stoppedWhileMoving(since);
    const sinceFirst = cluster.heard.length;
    cluster.running(first).kill();
    const second = await stoppedWhileMoving(sinceFirst);
    expect(second).not.toBe(first);
    cluster.running(second).kill();
    for (const process of cluster.alive) void process.command({ type: 'goOn' });
    // A controller may be elected, and stop, before it is told to continue.
    const over = new AbortController();
    const waking = (async () => {
      while (!over.signal.aborted) {
        for (const process of cluster.alive) if (process.isPaused) await kafka.resume(process.broker);
        await sleep(50);
      }
    })();
    try {
      const isThird = (): boolean => ![first, second, undefined].includes(kafka.controller);
      await until(isThird, { what: 'a third controller', withinMs: WAIT_MS });
      await kafka.start(first, second);
      await kafka.settled();
    } finally {
      over.abort();
      await waking;
    }
    const kept = [...(await kafka.partitions()).values()].filter(({ replicas }) => replicas.includes('b5'));
    expect(kept.length).toBeGreaterThanOrEqual(3);
    await kafka.checkNothingLost();
  });

  it.each(['write', 'request'] as const)('refuses the stale %s of a controller that was paused, to no effect', async (moment) => {
    await kafka.begin('b1', 'b2', 'b3');
    const since = cluster.heard.length;
    const zombie = kafka.controller!;
    await cluster.order(zombie, { type: 'stopBefore', moment }, WAIT_MS);
    const late = { topic: 'late', partitions: 1, replicationFactor: 3 };
    call(cluster.urls.get(zombie)!, '/create-topic', late, { reply: nothing, timeoutMs: 2_000 }).catch(() => {});
    expect(await stopped(since)).toBe(zombie);
    const isReplaced = async (): Promise<boolean> => kafka.ledBy({ than: zombie });
    await until(isReplaced, { what: 'others that have been told to lead its partitions', withinMs: WAIT_MS });
    // What was written before it stopped exists. What was not written never appears.
    const isThere = moment === 'request';
    expect((await kafka.partitions()).has('late-0')).toBe(isThere);
    await kafka.resume(zombie);
    const by = moment === 'write' ? 'store' : 'broker';
    const isRefused = (): boolean => heardOf(cluster.heard, 'refused').some(({ event }) => event.by === by && event.stale === 1n);
    await until(isRefused, { what: 'a refusal', withinMs: WAIT_MS });
    await kafka.settled();
    expect((await kafka.partitions()).has('late-0')).toBe(isThere);
    await kafka.checkNothingLost();
  });

  it('elects leaders in sync for those of a broker that is cut off, and takes it back', async () => {
    await kafka.begin('b1', 'b2', 'b3', 'b4');
    const victim = cluster.alive.map(({ broker }) => broker).find((broker) => broker !== kafka.controller)!;
    await cluster.order(victim, { type: 'cutOff' }, WAIT_MS);
    const isReplaced = async (): Promise<boolean> =>
      [...(await kafka.partitions()).values()].every(({ leader, isr }) => leader !== victim && !isr.includes(victim));
    await until(isReplaced, { what: 'others lead its partitions', withinMs: WAIT_MS });
    await cluster.order(victim, { type: 'heal' }, WAIT_MS);
    await kafka.settled();
    await kafka.checkNothingLost();
  });
});
