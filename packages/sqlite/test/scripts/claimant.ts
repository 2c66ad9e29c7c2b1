/**
 * Claims the key `leader` if it is absent, renews its lease every 100 ms, and emits each time
 * whether it holds the key: `leads` or `follows`. Its arguments: the file, and what it does after
 * the claim: `copy` reads the file, like a program that copies it; `close` closes the store and
 * exits.
 */

import { readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';

import { isIncumbentError } from '@incumbent/core';
import { openSqlite } from '@incumbent/sqlite';
import { emit } from '@incumbent/test-support/child';

const [file = '', afterwards] = process.argv.slice(2);

const store = await openSqlite({ file });
const at = (): { monotonicMs: number; wallMs: number } => ({ monotonicMs: performance.now(), wallMs: Date.now() });
const call = { timeoutMs: 5_000 };
const lease = await store.grantLease(60_000, { at: at(), ...call });
const claim = await store.compareAndSwap([{ key: 'leader', expect: null, put: new Uint8Array([1]), lease: lease.id }], call);
emit(claim.swapped ? 'claimed' : 'refused', { pid: process.pid });
if (afterwards === 'copy') readFileSync(file);
if (afterwards === 'close') {
  await store.revokeLease(lease.id, call);
  await store.close();
  process.exit(0);
}

for (;;) {
  await setTimeout(100);
  try {
    await store.renewLease(lease.id, { at: at(), ...call });
    const leader = await store.read('leader', call);
    emit(leader?.lease === lease.id ? 'leads' : 'follows');
  } catch (error) {
    emit(isIncumbentError(error, 'LEASE_EXPIRED') ? 'lost' : 'failed', { message: String(error) });
  }
}
