/** Parts of the tests that open stores on real servers. */

import { openingFailure as failureOf } from '@incumbent/test-support/wrong-server';

import { openConsul, type ConsulOptions } from '../src/index.ts';

export const CONNECT_TIMEOUT_MS = 3_000;

/** The error with which opening fails, in bounded time. */
export function openingFailure(options: ConsulOptions): Promise<unknown> {
  return failureOf(() => openConsul({ connectTimeoutMs: CONNECT_TIMEOUT_MS, ...options }), CONNECT_TIMEOUT_MS);
}

/** `host:port` of a server. */
export function hostOf({ url }: { readonly url: string }): string {
  return new URL(url).host;
}
