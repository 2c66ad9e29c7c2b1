/**
 * A process that opens a store and then has nothing to do. Its arguments: the file, and what it
 * leaves behind.
 */

import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

import { ElectionObserver, Member, type Store } from '@incumbent/core';
import { openSqlite } from '@incumbent/sqlite';
import { emit } from '@incumbent/test-support/child';
import { CALL, LEASE_CALL, live, TTL_MS, type Modes } from '@incumbent/test-support/lifetime';

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

const modes: Modes<Store> = {
  nothing: () => {},
  watches: (store) => {
    watch(store);
    return sleep(200);
  },
  /** A watch in a process that does nothing else but to wait for a timer. */
  'a lone watch': async (store) => {
    const last = setTimeout(() => {}, 60_000);
    emit('begins');
    await sleep(500);
    const states = store.watch('a', { signal: new AbortController().signal })[Symbol.asyncIterator]();
    await states.next();
    emit('state');
    await states.return?.();
    clearTimeout(last);
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
    while (!existsSync(`${process.argv[2]}.locked`)) await sleep(5);
    store.grantLease(1_000, LEASE_CALL).catch((error: unknown) => emit('failed', { error: String(error) }));
  },
  'a closed store': async (store) => {
    watch(store);
    await sleep(100);
    const lease = await store.grantLease(TTL_MS, LEASE_CALL);
    await store.revokeLease(lease.id, CALL);
    const late = store.read('a', { timeoutMs: 60_000 }).catch(() => {});
    await store.close();
    await late;
  },
};

await live((path) => openSqlite({ file: path }), { resources: /^(Timeout|FSEVENTWRAP)$/, modes });
