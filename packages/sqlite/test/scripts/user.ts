/**
 * A process of another user, who tries to open a store. Its arguments: the file, and the user's
 * number; none: the one who started it.
 */

import { setTimeout as sleep } from 'node:timers/promises';

import { openSqlite } from '@incumbent/sqlite';
import { emit } from '@incumbent/test-support/child';

/** For a busy machine. */
const WAIT_MS = 30_000;

const [file = '', user = ''] = process.argv.slice(2);
// Before it: a loader may read what the user may not.
const open = openSqlite;
if (user !== '') {
  process.setgroups?.([]);
  process.setgid?.(Number(user));
  process.setuid?.(Number(user));
}

try {
  const store = await open({ file, connectTimeoutMs: 1_000 });
  const lease = await store.grantLease(600_000, { at: { monotonicMs: 0, wallMs: 0 }, timeoutMs: WAIT_MS });
  await store.compareAndSwap([{ key: `held/${process.pid}`, expect: null, put: new Uint8Array(), lease: lease.id }], {
    timeoutMs: WAIT_MS,
  });
  emit('holds');
  const count = async (): Promise<number> => (await store.list('held', { timeoutMs: WAIT_MS })).length;
  for (;;) {
    emit('counted', { count: await count() });
    // Granting a lease checks for dead processes.
    await store.grantLease(1_000, { at: { monotonicMs: 0, wallMs: 0 }, timeoutMs: WAIT_MS });
    await sleep(50);
  }
} catch (error) {
  const { code, outcome } = error as { readonly code?: unknown; readonly outcome?: unknown };
  emit('failed', { code, outcome, message: String(error) });
}
