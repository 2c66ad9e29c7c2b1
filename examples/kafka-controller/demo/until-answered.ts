import { setTimeout as sleep } from 'node:timers/promises';
import { isRetryable } from 'incumbent';
import { now } from '../events.ts';
import { Refused, Unavailable } from '../wire.ts';

const RETRY_EVERY_MS = 20;
const WITHIN_MS = 10_000;

/**
 * Asks again while the store, or a broker, is busy or away, for 10 s. Only for what may be done
 * twice: a call whose outcome is unknown is made again, too.
 */
export async function untilAnswered<T>(ask: () => Promise<T>): Promise<T> {
  const end = now() + WITHIN_MS;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!mayPass(error) || now() > end) throw error;
    }
    await sleep(RETRY_EVERY_MS);
  }
}

/** What `fetch` rejects with is a `TypeError`, or a `TimeoutError`. */
function mayPass(error: unknown): boolean {
  if (isRetryable(error) || error instanceof Unavailable || error instanceof Refused) return true;
  return error instanceof Error && (error.message === 'fetch failed' || error.name === 'TimeoutError');
}
