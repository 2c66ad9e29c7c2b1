/** `PartitionedElection` on real stores, in processes that are killed and stopped. */

import {
  makeScratch,
  requireStore,
  type ScriptProcess,
  sharedConsul,
  sharedEtcd,
  sharedPostgres,
  sharedRedis,
  sharedZookeeper,
  spawnScript,
  until,
} from '@incumbent/test-support';
import { describe, expect, it } from 'vitest';
import { freshNamespace, storeUrl } from './checks/pair.ts';

const WORKER = new URL('partition-worker.ts', import.meta.url);
const WAIT_MS = 60_000;
const shared = { etcd: sharedEtcd, zookeeper: sharedZookeeper, consul: sharedConsul, redis: sharedRedis, postgres: sharedPostgres };

/** How many partitions a process says that it leads. */
function heldBy(worker: ScriptProcess): unknown {
  return worker.events.findLast(({ event }) => event === 'holds')?.fields['count'];
}

async function untilHold(workers: readonly ScriptProcess[], count: number): Promise<void> {
  const what = `${count} partitions each`;
  await until(() => workers.every((worker) => heldBy(worker) === count), { what, withinMs: WAIT_MS });
}

/** Processes come, one is killed, and one is stopped: all partitions are led, each term by one. */
async function checkPartitions(url: string): Promise<void> {
  const start = (): Promise<ScriptProcess> => spawnScript(WORKER, { args: [url] });
  await using first = await start();
  await untilHold([first], 12);
  await using second = await start();
  await using third = await start();
  await untilHold([first, second, third], 4);
  third.sigkill();
  await untilHold([first, second], 6);
  first.sigterm();
  expect(await first.exited).toBe(0);
  await untilHold([second], 12);
  second.sigterm();
  expect(await second.exited).toBe(0);
  const led = [first, second, third].flatMap(({ events }) => events.filter(({ event }) => event === 'led'));
  const terms = led.map(({ fields }) => `partition ${String(fields['partition'])} in term ${String(fields['term'])}`);
  expect(terms).toEqual([...new Set(terms)]);
}

describe('partitions follow the processes that come and go', { timeout: 5 * WAIT_MS }, async () => {
  it('on sqlite', async () => {
    const scratch = await makeScratch('partitions');
    try {
      await checkPartitions(`sqlite:${scratch.path}/state.db`);
    } finally {
      await scratch.remove();
    }
  });

  for (const store of ['etcd', 'zookeeper', 'consul', 'redis', 'postgres'] as const) {
    it.runIf(await requireStore({ store }))(`on ${store}`, async () => {
      const { endpoints } = await shared[store]();
      await checkPartitions(storeUrl(endpoints, freshNamespace(), store));
    });
  }
});
