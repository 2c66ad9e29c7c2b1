/** A process that opens a store and then has nothing to do. Its arguments: the file, and what it leaves behind. */

import { createHook } from 'node:async_hooks';
import { existsSync } from 'node:fs';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';

import { ElectionObserver, Member, type LeaseOptions, type Store } from '@incumbent/core';
import { openSqlite } from '@incumbent/sqlite';
import { emit } from '@incumbent/test-support';

const [file = '', mode = ''] = process.argv.slice(2);
const LEASE_CALL: LeaseOptions = { timeoutMs: 1_000, at: { monotonicMs: 0, wallMs: 0 } };

/** What is there now and was made since this began: timers and watches of files, whether they hold the process or not. */
const alive = new Map<number, string>();
createHook({
  init: (id, type) => {
    if (/^(Timeout|FSEVENTWRAP)$/.test(type)) alive.set(id, type);
  },
  destroy: (id) => void alive.delete(id),
}).enable();

function watch(store: Store): void {
  const follow = async (states: AsyncIterable<unknown>): Promise<void> => {
    for await (const state of states) emit('state', { state: String(state) });
  };
  for (const states of [
    store.watch('a', { signal: new AbortController().signal }),
    store.watchList('p', { signal: new AbortController().signal }),
  ])
    follow(states).catch((error: unknown) => emit('threw', { error: String(error) }));
}

/** A member that has led, and leads no more. */
async function idleMember(store: Store): Promise<void> {
  const leadership = await new Member(store, { ttlMs: 2_000 }).election('controller').campaign();
  await leadership.resign();
}

const modes: Readonly<Record<string, (store: Store) => Promise<void> | void>> = {
  nothing: () => {},
  watches: (store) => {
    watch(store);
    return sleep(200);
  },
  'an idle member': idleMember,
  'an idle observer': async (store) => {
    const observer = new ElectionObserver(store, 'controller');
    observer.subscribe(() => {});
    await observer.ready;
  },
  'an opened group': (store) => new Member(store, { ttlMs: 2_000 }).group('brokers').join(),
  'a pending campaign': (store) => {
    const campaign = new Member(store, { ttlMs: 2_000 }).election('controller').campaign();
    void campaign.then(async (leadership) => {
      emit('elected');
      await leadership.resign();
    });
  },
  'a leadership': async (store) => {
    const leadership = await new Member(store, { ttlMs: 2_000 }).election('controller').campaign();
    emit('leads');
    process.once('SIGTERM', () => void leadership.resign());
  },
  /** A call in flight, on a file that somebody keeps locked. */
  'a call': async (store) => {
    while (!existsSync(`${file}.locked`)) await sleep(5);
    store.grantLease(1_000, LEASE_CALL).catch((error: unknown) => emit('failed', { error: String(error) }));
  },
  'a closed store': async (store) => {
    watch(store);
    await sleep(100);
    const lease = await store.grantLease(5_000, LEASE_CALL);
    await store.revokeLease(lease.id, { timeoutMs: 1_000 });
    const late = store.read('a', { timeoutMs: 60_000 }).catch(() => {});
    await store.close();
    await late;
  },
};

process.on('unhandledRejection', (error) => emit('unhandled', { error: String(error) }));
process.on('warning', (warning) => emit('warning', { warning: String(warning) }));

const store = await openSqlite({ file });
emit('open');
await modes[mode]?.(store);
// Let what has ended be cleared away, this wait too.
await sleep(50);
await setImmediate();
emit('done', { left: [...alive.values()] });
