/** REVIEW, holds: what was feared and did not come true. */

import { until } from '@incumbent/test-support';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { HolderMonitor } from '../../src/holder-monitor.ts';
import { Database } from '../../src/client/database.ts';
import { readHost } from '../../src/host/host.ts';
import { ChangePoller } from '../../src/change-poller.ts';
import { WatchHub } from '../../src/watch-hub.ts';
import { inTime, now, watched, World } from './world.ts';

const bytes = new Uint8Array([1]);

describe('a process that writes without a pause', () => {
  it('still shows its own watches what another process did', async () => {
    await using world = new World();
    const other = await world.open();
    const store = await world.open();
    let seen: string | undefined = 'nothing yet';
    void (async () => {
      for await (const state of store.watch('wanted', { signal: new AbortController().signal })) seen = state?.name;
    })().catch(() => {});
    await until(() => seen === undefined, { what: 'the first state', withinMs: 2_000 });
    const lease = await store.grantLease(60_000, now());
    let busy = true;
    const writing = (async () => {
      for (let n = 0; busy; n += 1) await store.enqueue('load', `n${n % 10}`, bytes, lease.id, inTime);
    })();
    await other.compareAndSwap([{ key: 'wanted', expect: null, put: bytes, lease: null }], inTime);
    try {
      await until(() => seen === 'wanted', { what: 'the change, while writing goes on', withinMs: 2_000 });
    } finally {
      busy = false;
      await writing;
    }
  });
});

describe('hints', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    // As Node does: never sooner than in 1 ms.
    const fake = globalThis.setTimeout;
    vi.stubGlobal('setTimeout', (task: () => void, ms: number) => fake(task, Math.max(ms, 1)));
  });
  afterEach(() => {
    vi.unstubAllGlobals();
    vi.useRealTimers();
  });

  it('never put off a look, however many come', async () => {
    await using world = new World();
    const host = readHost();
    let looks = 0;
    const connect = watched((sql) => {
      if (sql.includes('data_version')) looks += 1;
    });
    const database = new Database(world.file, host, connect);
    const monitor = new HolderMonitor(undefined);
    const hub = new WatchHub(monitor);
    let hint: (() => void) | undefined;
    const hints = {
      isActive: true,
      start: (changed: () => void) => {
        hint = changed;
      },
      stop: () => {},
    };
    const poller = new ChangePoller({ database, host, hub, ownLeases: new Set(), monitor, notifier: hints });
    hub.watchKey('incumbent/k', { show: () => {}, lose: () => {}, fail: () => {} });
    poller.pollNow();
    vi.advanceTimersByTime(50);
    const before = looks;
    // One event every half of a millisecond, for a second.
    for (let n = 0; n < 2_000; n += 1) {
      hint?.();
      vi.advanceTimersByTime(0.5);
    }
    poller.stop();
    database.close();
    expect(looks - before).toBeGreaterThan(50);
  });
});
