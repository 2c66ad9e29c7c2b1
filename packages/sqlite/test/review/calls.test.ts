/**
 * Calls that do something else than they say. Real time: a round of Node's event loop, with its timers, is
 * the unit in which a call may hold up the process.
 */

import { setImmediate as turn } from 'node:timers/promises';

import type { CallOptions } from '@incumbent/core';
import { until } from '@incumbent/test-support';
import { describe, expect, it } from 'vitest';

import { FaultyDisk } from '../faulty-disk.ts';
import { readHost } from '../../src/host/host.ts';
import { inTime, now, plain, watched, World } from './world.ts';

const bytes = new Uint8Array([1]);

describe('a value', () => {
  it('is what it was at the call, also when the caller uses its Buffer again', async () => {
    await using world = new World();
    const store = await world.open();
    const value = Buffer.from('first');
    const swapping = store.compareAndSwap([{ key: 'k', expect: null, put: value, lease: null }], inTime);
    value.write('later');
    await swapping;
    expect(new TextDecoder().decode((await store.read('k', inTime))?.value)).toBe('first');
  });
});

describe('an entry whose name is free again because the former lease ended this very moment', () => {
  it('is refused, or the last in the queue', async () => {
    await using world = new World();
    const clock = { us: 1_000_000_000, step: 0 };
    const host = { ...readHost(), nowUs: () => (clock.us += clock.step) };
    const store = await world.open(host);
    const short = await store.grantLease(1_000, now());
    const long = await store.grantLease(60_000, now());
    await store.enqueue('queue', 'again', bytes, short.id, inTime);
    await store.enqueue('queue', 'other', bytes, long.id, inTime);
    // It lives while the file is swept, and not any more when its key is read.
    clock.us = 1_000_000_000 + 1_000_000 - 10;
    clock.step = 8;
    const again = await store.enqueue('queue', 'again', bytes, long.id, inTime).catch(() => undefined);
    clock.step = 0;
    const listed = await store.list('queue', inTime);
    // At one instant it lives, and is refused; or it does not, and is made anew.
    expect.soft(listed.map(({ name }) => name).at(-1)).toBe(again === undefined ? 'other' : 'again');
    if (again !== undefined) expect(listed.at(-1)?.order).toBe(again.order);
  });
});

describe('a commit that was done and says that it failed', () => {
  it("is shown by this store's own watches", async () => {
    await using world = new World();
    const disk = new FaultyDisk();
    const store = await world.open(readHost(), (path) => disk.connect(path));
    let seen: unknown = 'nothing yet';
    void (async () => {
      for await (const state of store.watch('k', { signal: new AbortController().signal })) seen = state?.revision;
    })().catch(() => {});
    await until(() => seen === undefined, { what: 'the first state', withinMs: 1_000 });
    disk.failNextCommit();
    const swapping = store.compareAndSwap([{ key: 'k', expect: null, put: bytes, lease: null }], inTime);
    await expect(swapping).rejects.toMatchObject({ outcome: 'unknown' });
    await until(() => typeof seen === 'string', { what: 'the change', withinMs: 2_000 });
  });
});

describe('a thousand calls at once', () => {
  it('let timers run in between, so that a renewal that is due is not behind all of them', async () => {
    await using world = new World();
    let steps = 0;
    const store = await world.open(
      readHost(),
      watched((sql) => {
        if (sql === 'BEGIN IMMEDIATE') steps += 1;
      }),
    );
    const swapping = Array.from({ length: 1_000 }, (_, n) =>
      store.compareAndSwap([{ key: `k${n}`, expect: null, put: bytes, lease: null }], { timeoutMs: 60_000 }),
    );
    let most = 0;
    let busy = true;
    void Promise.all(swapping).then(() => {
      busy = false;
    });
    let before = steps;
    while (busy) {
      // One round of the event loop, with its timers.
      await new Promise((resolve) => setTimeout(resolve, 0));
      await turn();
      most = Math.max(most, steps - before);
      before = steps;
    }
    expect(most).toBeLessThan(200);
  });
});

describe('a call that waits for its turn behind many others', () => {
  const many = { timeoutMs: 60_000 };

  it.each([
    ['its signal aborts', (): CallOptions => ({ timeoutMs: 60_000, signal: AbortSignal.timeout(5) })],
    ['its time is over', (): CallOptions => ({ timeoutMs: 5 })],
  ] as const)('ends when %s, and not when its turn comes', async (_name, options) => {
    await using world = new World();
    let steps = 0;
    const store = await world.open(
      readHost(),
      watched((sql) => {
        if (sql === 'COMMIT') steps += 1;
      }),
    );
    const lease = await store.grantLease(60_000, now());
    const others = Array.from({ length: 2_000 }, (_, n) => store.enqueue('queue', `n${n}`, bytes, lease.id, many));
    const before = steps;
    await expect(store.read('k', options())).rejects.toThrow(/./u);
    expect(steps - before).toBeLessThan(1_000);
    await Promise.all(others);
  });
});

describe('a rollback that fails', () => {
  it('does not leave the file locked for all processes', async () => {
    await using world = new World();
    let failing = true;
    const store = await world.open(
      readHost(),
      watched((sql) => {
        if (sql === 'ROLLBACK' && failing) {
          failing = false;
          throw Object.assign(new Error('out of memory'), { errcode: 7 });
        }
      }),
    );
    const other = await world.open(readHost(), plain);
    // Refused within the transaction.
    await expect(store.enqueue('queue', 'a', bytes, 'no-such-lease', inTime)).rejects.toThrow('no lease');
    await expect(other.grantLease(1_000, now())).resolves.toBeDefined();
  });
});
