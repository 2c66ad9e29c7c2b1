/**
 * A process of a fleet with jobs of one slot each second, which reports every run. Started by
 * `checks/cron-fleet.ts`. Arguments: the URL of a Redis with a namespace, how the fleet decides who
 * runs a slot, the number of jobs, how long a run takes in ms, and the ttl of the member in ms.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { FleetCron } from '@incumbent/cron';
import { emit } from '@incumbent/test-support/child';
import { weakStore } from '@incumbent/test-support/weak-store';
import { Cron } from 'croner';
import { Member, openStore } from 'incumbent';
import { Redis } from 'ioredis';
import { schedule, type RunCoordinator } from 'node-cron';

const [url = '', kind = 'fleet', jobs = '1', workMs = '100', ttlMs = '3000'] = process.argv.slice(2);
const names = Array.from({ length: Number(jobs) }, (_, index) => `job-${index}`);
const EVERY_SECOND = '* * * * * *';

async function work(job: string, slot: Date, signal?: AbortSignal): Promise<void> {
  emit('started', { job, slot: slot.getTime() });
  await sleep(Number(workMs), undefined, signal === undefined ? {} : { signal });
  emit('done', { job, slot: slot.getTime() });
}

async function runFleetCron(): Promise<void> {
  const store = await openStore(url);
  const member = new Member(store, { ttlMs: Number(ttlMs) });
  const cron = new FleetCron(member.election('cron', weakStore(store)), {
    maxLate: 100,
    onReport: (report) => {
      const { type, job } = report;
      if (report.type === 'ahead' || report.type === 'aborted') return;
      const [from, to] = report.type === 'missed' ? [report.from, report.to] : [report.slot, report.slot];
      emit('reported', { type, job, from: from.getTime(), to: to.getTime() });
    },
  });
  for (const name of names) cron.add(name, new Cron(EVERY_SECOND, { timezone: 'UTC' }), ({ slot, signal }) => work(name, slot, signal));
  process.once('SIGTERM', () => void member.close());
  emit('ready');
  await cron.run();
  await store.close();
}

/** The lock of a slot in Redis: until `ttlMs` have passed, or until the run is over. */
function lock(redis: Redis, namespace: string, isReleased: boolean): RunCoordinator {
  const keyOf = (key: string): string => `${namespace}:${key}`;
  return {
    shouldRun: async (key, lockMs) => (await redis.set(keyOf(key), process.pid, 'PX', lockMs, 'NX')) === 'OK',
    onComplete: async (key) => {
      if (isReleased) await redis.del(keyOf(key));
    },
  };
}

async function runNodeCron(isReleased: boolean): Promise<void> {
  const { hostname, port, pathname } = new URL(url);
  const redis = new Redis({ host: hostname, port: Number(port) });
  const runCoordinator = lock(redis, pathname.slice(1), isReleased);
  const tasks = names.map((name) =>
    schedule(EVERY_SECOND, async ({ date }) => work(name, date), {
      name,
      timezone: 'UTC',
      distributed: true,
      runCoordinator,
      suppressMissedWarning: true,
    }),
  );
  emit('ready');
  process.once('SIGTERM', () => {
    for (const task of tasks) void task.destroy();
    redis.disconnect();
  });
}

await (kind === 'fleet' ? runFleetCron() : runNodeCron(kind === 'released'));
