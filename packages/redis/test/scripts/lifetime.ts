/** A process that opens a store and then has nothing to do. Its arguments: the URL, and what it leaves behind. */

import { createHook } from 'node:async_hooks';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';

import type { Store } from '@incumbent/core';
import { openRedis } from '@incumbent/redis';
import { emit } from '@incumbent/test-support';

const [url = '', mode = ''] = process.argv.slice(2);

/** What is there now and was made since this began: timers and sockets, whether they hold the process or not. */
const alive = new Map<number, string>();
createHook({
  init: (id, type) => {
    if (/^(Timeout|TCPWRAP|TLSWRAP)$/.test(type)) alive.set(id, type);
  },
  destroy: (id) => void alive.delete(id),
}).enable();

function watch(store: Store): void {
  const follow = async (states: AsyncIterable<unknown>): Promise<void> => {
    for await (const state of states) emit('state', { state: String(state) });
  };
  follow(store.watch('a', { signal: new AbortController().signal, onStale: ({ code }) => emit('stale', { code }) })).catch(
    (error: unknown) => {
      emit('threw', { error: String(error) });
    },
  );
}

const modes: Readonly<Record<string, (store: Store) => Promise<void> | void>> = {
  idle: () => {},
  watches: (store) => {
    watch(store);
    return sleep(200);
  },
  /** A call in flight, which nobody answers: the link is cut meanwhile. */
  call: async (store) => {
    await sleep(300);
    store.read('a', { timeoutMs: 1_000 }).catch((error: unknown) => emit('failed', { error: String(error) }));
  },
  /** Watches whose server has gone, and which keep trying. */
  orphaned: (store) => {
    watch(store);
    return sleep(2_000);
  },
  closed: async (store) => {
    watch(store);
    const lease = await store.grantLease(5_000, { timeoutMs: 1_000, at: { monotonicMs: 0, wallMs: 0 } });
    await store.revokeLease(lease.id, { timeoutMs: 1_000 });
    const late = store.read('a', { timeoutMs: 60_000 }).catch(() => {});
    await store.close();
    await late;
  },
};

process.on('unhandledRejection', (error) => emit('unhandled', { error: String(error) }));
process.on('warning', (warning) => emit('warning', { warning: String(warning) }));

const store = await openRedis(url);
emit('open');
await modes[mode]?.(store);
// Let what has ended be cleared away, this wait too.
await sleep(50);
await setImmediate();
emit('done', { left: [...alive.values()] });
