/** Parts of the tests that open stores on real servers. */

import { expect } from 'vitest';

import { openConsul, type ConsulOptions } from '../src/index.ts';

export const CONNECT_TIMEOUT_MS = 3_000;

/** The error with which opening fails, in bounded time. */
export async function openingFailure(options: ConsulOptions): Promise<unknown> {
  const from = performance.now();
  const failure: unknown = await openConsul({ connectTimeoutMs: CONNECT_TIMEOUT_MS, ...options }).then(
    () => 'it opened',
    (error: unknown) => error,
  );
  expect(performance.now() - from).toBeLessThan(4 * CONNECT_TIMEOUT_MS);
  return failure;
}

/** `host:port` of a server. */
export function hostOf({ url }: { readonly url: string }): string {
  return new URL(url).host;
}
