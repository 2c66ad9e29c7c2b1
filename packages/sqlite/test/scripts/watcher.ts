/**
 * Watches a key, and grants itself leases, which checks for dead processes. Its arguments: the file
 * and the key.
 */

import { openSqlite } from '@incumbent/sqlite';
import { emit } from '@incumbent/test-support/child';

const [file = '', key = ''] = process.argv.slice(2);
const store = await openSqlite({ file });

async function grant(): Promise<void> {
  const at = { monotonicMs: performance.now(), wallMs: Date.now() };
  const { id } = await store.grantLease(1_000, { at, timeoutMs: 5_000 });
  await store.revokeLease(id, { timeoutMs: 5_000 });
}

setInterval(() => void grant().then(() => emit('granted')), 50);
for await (const entry of store.watch(key, { signal: new AbortController().signal, onStale: () => emit('stale') })) {
  emit(entry === undefined ? 'absent' : 'present', { seen: process.hrtime.bigint() });
}
