/** What tests of opening, and of what a server refuses, have in common. */

import type { Store } from '@incumbent/core';
import type { RedisServer } from '@incumbent/test-support';
import { expect } from 'vitest';

import { openRedis, type RedisOptions } from '../src/index.ts';

const CONNECT_MS = 2_000;
export const CALL = { timeoutMs: 5_000 };
export const LEASE_CALL = { ...CALL, at: { monotonicMs: 0, wallMs: 0 } };

/** What opening ends with, and that it does so in time. */
export async function failureOf(options: RedisOptions): Promise<unknown> {
  const from = performance.now();
  const failure: unknown = await openRedis({ connectTimeoutMs: CONNECT_MS, ...options }).then(
    (store) => store.close().then(() => 'it opened'),
    (error: unknown) => error,
  );
  // Bounded, not timed: this machine may be busy.
  expect(performance.now() - from).toBeLessThan(4 * CONNECT_MS);
  return failure;
}

export const at = ({ url }: RedisServer): readonly string[] => [new URL(url).host];

export const put = (store: Store, key: string): Promise<unknown> =>
  store.compareAndSwap([{ key, expect: null, put: new Uint8Array([1]) }], CALL);
