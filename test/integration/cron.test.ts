import { requireStore, startRedis, until } from '@incumbent/test-support';
import { expect, it } from 'vitest';
import { CronFleet, type CronKind } from './checks/cron-fleet.ts';
import { freshNamespace, storeUrl } from './checks/pair.ts';

const WAIT_MS = 60_000;

/**
 * Kills, then pauses each process in turn, then kills all, and counts the slots in the meantime.
 */
async function countsOf(kind: CronKind) {
  const server = await startRedis();
  try {
    const url = storeUrl([server.url], freshNamespace(), 'redis');
    await using fleet = new CronFleet({ url, kind, jobs: 5, workMs: 100, ttlMs: 1_500 });
    const reach = (time: number, what: string): Promise<unknown> => until(() => fleet.hasReached(time), { what, withinMs: WAIT_MS });
    await fleet.start();
    await reach(0, 'each job runs');
    const from = Date.now() + 1_000;
    for (const index of [0, 1, 2]) await fleet.kill([index], 0);
    for (const index of [0, 1, 2]) await fleet.pause([index], 2_500);
    await fleet.kill([0, 1, 2], 2_000);
    const to = Date.now();
    await reach(to + 2_000, 'each job runs after the faults');
    const counts = fleet.counts(from, to);
    await fleet.stop();
    return counts;
  } finally {
    await server.stop();
  }
}

const hasRedis = await requireStore({ store: 'redis' });

it.runIf(hasRedis)(
  'no slot runs twice, and each one runs or is reported, whichever process is killed or paused',
  { timeout: 180_000 },
  async () => {
    const { slots, twice, silent } = await countsOf('fleet');
    expect({ twice, silent }).toEqual({ twice: 0, silent: 0 });
    expect(slots).toBeGreaterThan(25);
  },
);

it.runIf(hasRedis)('slots are missed in silence with node-cron and a lock for each slot', { timeout: 180_000 }, async () => {
  const { silent } = await countsOf('kept');
  expect(silent).toBeGreaterThan(0);
});
