/** A process that opens a store and then has nothing to do. Its arguments: the store's URL, and what it leaves behind. */

import { createHook } from 'node:async_hooks';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';

import type { Store } from '@incumbent/core';
import { emit } from '@incumbent/test-support';

import { openConsul } from '../../src/index.ts';

const CALL = { timeoutMs: 5_000 };

const [url = '', mode = ''] = process.argv.slice(2);

/** What is there now and was made since this began: timers and sockets, whether they hold the process or not. */
const alive = new Map<number, string>();
createHook({
  init: (id, type) => {
    if (/^(Timeout|TCPWRAP|TLSWRAP)$/.test(type)) alive.set(id, type);
  },
  destroy: (id) => void alive.delete(id),
}).enable();

function watched(store: Store, onStale: () => void = () => {}): Promise<IteratorResult<unknown, void>> {
  const watch = store.watch('a', { signal: new AbortController().signal, onStale })[Symbol.asyncIterator]();
  const first = watch.next();
  void first.then(() => watch.next()).catch(() => {});
  return first;
}

async function held<T>(task: Promise<T>): Promise<T> {
  const waiting = setInterval(() => {}, 1_000);
  const result = await task;
  clearInterval(waiting);
  return result;
}

const modes: Readonly<Record<string, (store: Store) => Promise<void>>> = {
  /** A lease, and watches that wait. */
  idle: async (store) => {
    await store.grantLease(60_000, { ...CALL, at: { monotonicMs: 0, wallMs: 0 } });
    await held(Promise.all([watched(store), watched(store)]));
  },
  /** A call that nobody answers, which ends well after everything else has. */
  call: async (store) => {
    emit('cut', {});
    await sleep(500);
    void store.read('a', { timeoutMs: 2_000 }).catch((error: unknown) => emit('failed', { error: String(error) }));
  },
  /** An agent that is looked for. */
  orphaned: async (store) => {
    const lost = Promise.withResolvers<void>();
    await held(watched(store, lost.resolve));
    emit('watching', {});
    await held(lost.promise);
  },
  closed: async (store) => {
    const lease = await store.grantLease(60_000, { ...CALL, at: { monotonicMs: 0, wallMs: 0 } });
    await held(Promise.all([watched(store), watched(store)]));
    await store.revokeLease(lease.id, CALL);
    await store.close();
    // Node tells of the end of a socket, and of its timers, a turn later.
    await sleep(20);
    await setImmediate();
    emit('left', { resources: [...alive.values()] });
  },
};

for (const event of ['unhandledRejection', 'warning'] as const) process.on(event, (what) => emit('unhandled', { what: String(what) }));

const store = await openConsul(url);
await modes[mode]?.(store);
emit('done', {});
