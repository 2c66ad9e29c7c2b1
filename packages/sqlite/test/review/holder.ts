/**
 * A script: opens the file, claims `leader` if it is free, and says ten times a second whether its lease lives. `copy`: it reads the file as one that makes a
 * copy does; `close`: it ends.
 */

import { readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';

import { openSqlite } from '@incumbent/sqlite';
import { isIncumbentError } from '@incumbent/core';
import { emit } from '@incumbent/test-support/child';

const [file = '', then] = process.argv.slice(2);

const store = await openSqlite({ file });
const at = (): { monotonicMs: number; wallMs: number } => ({ monotonicMs: performance.now(), wallMs: Date.now() });
const lease = await store.grantLease(60_000, { at: at(), timeoutMs: 5_000 });
const claim = await store.compareAndSwap([{ key: 'leader', expect: null, put: new Uint8Array([1]), lease: lease.id }], {
  timeoutMs: 5_000,
});
emit(claim.swapped ? 'claimed' : 'refused', { pid: process.pid });
if (then === 'copy') readFileSync(file);
if (then === 'close') {
  await store.revokeLease(lease.id, { timeoutMs: 5_000 });
  await store.close();
  process.exit(0);
}

for (;;) {
  await setTimeout(100);
  try {
    await store.renewLease(lease.id, { at: at(), timeoutMs: 5_000 });
    const leader = await store.read('leader', { timeoutMs: 5_000 });
    emit(leader?.lease === lease.id ? 'leads' : 'follows');
  } catch (error) {
    emit(isIncumbentError(error, 'LEASE_EXPIRED') ? 'lost' : 'failed', { message: String(error) });
  }
}
