import { setTimeout as sleep } from 'node:timers/promises';
import { isRetryable } from 'incumbent';
import { now } from '../events.ts';
import { Refused, Unavailable } from '../wire.ts';

const RETRY_EVERY_MS = 20;
const WITHIN_MS = 10_000;

/**
 * Repeats a request for up to 10 s while the store or a broker is busy or unavailable. Use it only
 * for requests that may be repeated: a request whose outcome is unknown is repeated, too.
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

/** `fetch` rejects with a `TypeError` or a `TimeoutError`. */
function mayPass(error: unknown): boolean {
  if (isRetryable(error) || error instanceof Unavailable || error instanceof Refused) return true;
  return error instanceof Error && (error.message === 'fetch failed' || error.name === 'TimeoutError');
}
