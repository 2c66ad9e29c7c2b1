/**
 * Holds a key by a lease. Its arguments: the file, the key, the ttl in ms, `renews` to renew the
 * lease, and `outlives` for a lease that the end of the process does not end.
 */

import type { LeaseOptions } from '@incumbent/core';
import { openSqlite } from '@incumbent/sqlite';
import { emit } from '@incumbent/test-support/child';

const [file = '', key = '', ttl = '', renews = '', outlives = ''] = process.argv.slice(2);

/** `sent`: before the call, in ns, on this process's clock. */
function now(): { readonly sent: bigint; readonly call: LeaseOptions } {
  const at = { monotonicMs: performance.now(), wallMs: Date.now() };
  return { sent: process.hrtime.bigint(), call: { at, timeoutMs: 5_000 } };
}

const store = await openSqlite({ file, endsWithProcess: outlives !== 'outlives' });
const granted = now();
const lease = await store.grantLease(Number(ttl), granted.call);
const { swapped } = await store.compareAndSwap([{ key, expect: null, put: new Uint8Array(), lease: lease.id }], { timeoutMs: 5_000 });
emit(swapped ? 'holds' : 'refused', { pid: process.pid, sent: granted.sent });

async function renew(): Promise<void> {
  const { sent, call } = now();
  try {
    await store.renewLease(lease.id, call);
    emit('renewed', { sent });
  } catch (error) {
    emit('lost', { code: error instanceof Error && 'code' in error ? error.code : String(error) });
  }
}

// Keeps the process alive, too.
setInterval(() => void (renews === 'renews' && renew()), Number(ttl) / 3);
