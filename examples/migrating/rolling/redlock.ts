import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { openRedis } from '@incumbent/redis';
import { Member, type Leadership } from 'incumbent';
import Redlock from 'redlock';

const [url = 'redis://127.0.0.1:6379', everyMs = '1000'] = process.argv.slice(2);
const client = new Redis(url);
const redlock = new Redlock([client], { retryCount: 10 });
const store = await openRedis({ client, namespace: 'my-app' });
const member = new Member(store, { ttlMs: 5_000 });
const election = member.election('reports', { acceptWeakStore: 'redis' });
const stopping = new AbortController();
process.on('SIGTERM', () => stopping.abort());

while (!stopping.signal.aborted) {
  try {
    // Extended when 10 s are left: the lock outlasts the leadership, whose ttl is 5 s.
    await redlock.using(['reports'], 15_000, { automaticExtensionThreshold: 10_000 }, async (lock) => {
      const lockedAt = performance.now();
      const signal = AbortSignal.any([lock, stopping.signal]);
      await election.tryLead((leadership) => sendReports(leadership, lockedAt), { signal });
    });
  } catch (error) {
    if (!stopping.signal.aborted) console.error('lost the lock, or failed to get it:', error);
  }
  await sleep(1_000, undefined, { signal: stopping.signal }).catch(() => {});
}
await member.close();
await store.close();
await redlock.quit();

async function sendReports(leadership: Leadership, lockedAt: number): Promise<void> {
  // The store was away for too long to be sure of the lock.
  if (performance.now() - lockedAt > 5_000) return;
  while (leadership.isValid()) {
    await sendReport(leadership.term, leadership.signal);
    await sleep(Number(everyMs), undefined, { signal: leadership.signal });
  }
}

async function sendReport(term: bigint, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  console.log(`report from ${process.pid}, in term ${term}`);
}
