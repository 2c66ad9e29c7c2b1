/** The scheduler on a store in memory and a manual clock. */

import { TestCluster } from '@incumbent/memory';
import { expect, it } from 'vitest';
import { schedule } from '../scheduler.ts';
import { Runs } from '../table.ts';

function start(cluster: TestCluster, memberId: string, runs: Runs) {
  const { store, options } = cluster.process(memberId);
  const stop = new AbortController();
  const table = {
    last: async (term: bigint) => runs.last(term),
    start: async (run: number, term: bigint) => runs.start(run, term),
  };
  const over = schedule(store, table, { ...options, ttlMs: 10_000, everyMs: 1_000, signal: stop.signal });
  return { stop: () => stop.abort(), over };
}

async function stopAll(cluster: TestCluster, schedulers: readonly ReturnType<typeof start>[]): Promise<void> {
  for (const { stop } of schedulers) stop();
  await cluster.run(Promise.all(schedulers.map(({ over }) => over)));
}

it('starts a run every second', async () => {
  await using cluster = new TestCluster();
  const runs = new Runs();
  const scheduler = start(cluster, 'a', runs);
  await cluster.advance(5_500);
  expect(runs.rows.map(({ run }) => run)).toEqual([1, 2, 3, 4, 5, 6]);
  await stopAll(cluster, [scheduler]);
});

it('continues in another process when the lease of the first has expired', async () => {
  await using cluster = new TestCluster();
  const runs = new Runs();
  const schedulers = [start(cluster, 'a', runs), start(cluster, 'b', runs)];
  await cluster.advance(2_500);
  cluster.expireLease('a');
  await cluster.advance(2_100);
  expect(runs.rows).toMatchObject([{ term: 1n }, { term: 1n }, { term: 1n }, { term: 2n }, { term: 2n }, { term: 2n }]);
  runs.assertOnce();
  await stopAll(cluster, schedulers);
});

it('starts no run after a pause during which another process was elected', async () => {
  await using cluster = new TestCluster();
  const runs = new Runs();
  const schedulers = [start(cluster, 'a', runs), start(cluster, 'b', runs)];
  await cluster.advance(2_500);
  cluster.pause('a');
  await cluster.advance(30_000);
  const before = runs.rows.length;
  cluster.resume('a');
  await cluster.advance(500);
  expect(runs.rows.length).toBeLessThanOrEqual(before + 1);
  expect(runs.rows.at(-1)?.term).toBe(2n);
  runs.assertOnce();
  await stopAll(cluster, schedulers);
});
