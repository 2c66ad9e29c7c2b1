/** A process whose own log fills a small disk. Its argument: a folder on it. */

import { statfsSync } from 'node:fs';
import { join } from 'node:path';

import type { LeaseOptions } from '@incumbent/core';
import { openSqlite } from '@incumbent/sqlite';
import { emit } from '@incumbent/test-support/child';

const [folder = ''] = process.argv.slice(2);
const CALL: LeaseOptions = { timeoutMs: 2_000, at: { monotonicMs: 0, wallMs: 0 } };
/** Two pages of the log each: without a checkpoint, 8 MiB in all. */
const RENEWALS = 1_000;

const file = join(folder, 'state.db');
const store = await openSqlite({ file });
const { id } = await store.grantLease(600_000, CALL);
await store.compareAndSwap([{ key: 'held', expect: null, put: new Uint8Array([1]), lease: id }], CALL);
let leastFree = Infinity;
const failed = new Map<string, number>();
for (let i = 0; i < RENEWALS; i += 1) {
  try {
    await store.renewLease(id, CALL);
  } catch (error) {
    failed.set(String(error), (failed.get(String(error)) ?? 0) + 1);
  }
  leastFree = Math.min(leastFree, statfsSync(folder).bavail);
}
emit('renewed', { failed: [...failed], leastFree });
emit('read', { there: (await store.read('held', CALL)) !== undefined });
await store.close();
