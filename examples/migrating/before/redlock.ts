import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import Redlock from 'redlock';

const [url = 'redis://127.0.0.1:6379', everyMs = '1000'] = process.argv.slice(2);
const redlock = new Redlock([new Redis(url)], { retryCount: 10 });
let stopping = false;
process.once('SIGTERM', () => (stopping = true));

while (!stopping) {
  try {
    await redlock.using(['reports'], 5_000, async (signal) => {
      while (!signal.aborted && !stopping) {
        await sendReport();
        await sleep(Number(everyMs));
      }
    });
  } catch (error) {
    console.error('lost the lock, or failed to get it:', error);
  }
}
await redlock.quit();

async function sendReport(): Promise<void> {
  console.log(`report from ${process.pid}`);
}
