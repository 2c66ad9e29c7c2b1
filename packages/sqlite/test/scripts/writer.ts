/**
 * A process that does nothing but write: it counts up two keys that every writer counts up, in one
 * swap, and renews its lease and puts entries in between. Emits every count after it was
 * acknowledged. Its argument: the file.
 */

import type { Entry, Store } from '@incumbent/core';
import { openSqlite } from '@incumbent/sqlite';
import { emit } from '@incumbent/test-support/child';

const [file = ''] = process.argv.slice(2);
const CALL = { timeoutMs: 30_000 };

function leaseCall(): { readonly at: { readonly monotonicMs: number; readonly wallMs: number }; readonly timeoutMs: number } {
  return { at: { monotonicMs: performance.now(), wallMs: Date.now() }, ...CALL };
}

function counted(entry: Entry | undefined): number {
  return entry === undefined ? 0 : Number(new TextDecoder().decode(entry.value));
}

/** Undefined: another one was faster. */
async function countUp(store: Store): Promise<number | undefined> {
  const [left, right] = await Promise.all([store.read('pair/left', CALL), store.read('pair/right', CALL)]);
  const count = counted(left) + 1;
  const put = new TextEncoder().encode(String(count));
  const changes = [
    { key: 'pair/left', expect: left?.revision ?? null, put },
    { key: 'pair/right', expect: right?.revision ?? null, put },
  ];
  return (await store.compareAndSwap(changes, CALL)).swapped ? count : undefined;
}

const store = await openSqlite({ file, connectTimeoutMs: 30_000 });
try {
  const lease = await store.grantLease(60_000, leaseCall());
  for (;;) {
    const count = await countUp(store);
    if (count !== undefined) emit('counted', { count });
    await store.enqueue('queue', `${process.pid}`, new Uint8Array(3_000), lease.id, CALL);
    await store.renewLease(lease.id, leaseCall());
  }
} catch (error) {
  emit('failed', { error: String(error) });
}
