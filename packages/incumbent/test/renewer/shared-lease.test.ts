import { Worker } from 'node:worker_threads';

import { describe, expect, it } from 'vitest';

import { now, SharedLease } from '../../src/renewer/shared-lease.ts';

/** Publishes renewals whose three fields are the same number, until it is terminated. */
const PUBLISHER = `
  import { workerData } from 'node:worker_threads';
  const fields = new BigInt64Array(workerData);
  for (let n = 1n; ; n += 1n) {
    const slot = 4 + 3 * Number(n % 2n);
    for (const field of [0, 1, 2]) Atomics.store(fields, slot + field, n * 1000n);
    Atomics.store(fields, 3, n);
  }
`;

describe('a lease that two threads share', () => {
  it('shows the other thread what one has written', () => {
    const main = new SharedLease();
    const other = new SharedLease(main.buffer);
    expect([other.latest(), other.isEnded]).toEqual([undefined, false]);
    main.beat(5.5);
    main.renewed(4.25);
    expect([other.beatMs, other.newestMs]).toEqual([5.5, 4.25]);
    other.publish({ atMs: 7, wallMs: 1_700_000_000_000, ttlMs: 10_000 });
    expect(main.latest()).toEqual({ atMs: 7, wallMs: 1_700_000_000_000, ttlMs: 10_000 });
    expect(other.newestMs).toBe(7);
    main.renewed(9);
    expect(other.newestMs).toBe(9);
    main.end();
    expect(other.isEnded).toBe(true);
  });

  it('never mixes two renewals', async () => {
    const lease = new SharedLease();
    const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(PUBLISHER)}`), { workerData: lease.buffer });
    try {
      const seen = new Set<number>();
      while (seen.size < 200) {
        // Lets the worker start.
        if (seen.size === 0) await new Promise(setImmediate);
        const renewal = lease.latest();
        if (renewal === undefined) continue;
        expect(renewal).toEqual({ atMs: renewal.atMs, wallMs: renewal.atMs, ttlMs: renewal.atMs });
        seen.add(renewal.atMs);
      }
    } finally {
      await worker.terminate();
    }
  });

  it('counts on a clock that does not go back', () => {
    const before = now();
    expect(now()).toBeGreaterThanOrEqual(before);
  });
});
