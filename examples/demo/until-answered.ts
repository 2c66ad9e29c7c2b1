import { setTimeout as sleep } from 'node:timers/promises';
import { isPassing } from 'incumbent';
import { now } from './clock.ts';

const RETRY_EVERY_MS = 20;
const WITHIN_MS = 5_000;

/** Asks again while the store is busy or away, for 5 s. Only for what may be done twice: a call whose outcome is unknown is made again, too. */
export async function untilAnswered<T>(ask: () => Promise<T>): Promise<T> {
  const end = now() + WITHIN_MS;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!isPassing(error) || now() > end) throw error;
    }
    await sleep(RETRY_EVERY_MS);
  }
}
