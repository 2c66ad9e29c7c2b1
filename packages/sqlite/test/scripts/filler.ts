/** A process that fills a small disk, and makes room again. Its argument: a folder on it. */

import { closeSync, ftruncateSync, openSync, statfsSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import type { LeaseOptions, OpenRevoker } from '@incumbent/core';
import { openSqlite } from '@incumbent/sqlite';
import { emit } from '@incumbent/test-support/child';

const [folder = ''] = process.argv.slice(2);
const CALL = { timeoutMs: 2_000 };
const LEASE_CALL: LeaseOptions = { ...CALL, at: { monotonicMs: 0, wallMs: 0 } };
const VALUE = new Uint8Array(20_000);
const ballast = openSync(join(folder, 'ballast'), 'w');

/** How a call ended: `done`, or its code and outcome. */
async function outcome(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return 'done';
  } catch (error) {
    const { code, outcome: known, message } = error as { readonly code?: unknown; readonly outcome?: unknown; readonly message?: unknown };
    emit('failed', { message });
    return `${String(code)} ${String(known)}`;
  }
}

function fill(): void {
  for (const size of [4_096, 512, 1]) {
    try {
      for (;;) writeSync(ballast, Buffer.alloc(size));
    } catch {
      // It is full.
    }
  }
}

const file = join(folder, 'state.db');
const store = await openSqlite({ file });
const { id: lease } = await store.grantLease(600_000, LEASE_CALL);
await store.compareAndSwap([{ key: 'before', expect: null, put: VALUE, lease }], CALL);
const { id: crashed } = await store.grantLease(600_000, LEASE_CALL);
await store.compareAndSwap([{ key: 'crashed', expect: null, put: VALUE, lease: crashed }], CALL);
const { module = '', access = '' } = store.revocation ?? {};
const { openRevoker } = (await import(module)) as { readonly openRevoker: OpenRevoker };
fill();
emit('full', { free: statfsSync(folder).bavail });
const put = (key: string): Promise<string> =>
  outcome(
    store.compareAndSwap(
      [
        { key: `${key}/small`, expect: null, put: new Uint8Array() },
        { key: `${key}/large`, expect: null, put: VALUE },
      ],
      CALL,
    ),
  );
emit('tried', { swap: await put('while') });
emit('tried', { swap: await put('while') });
emit('tried', { opening: await outcome(openSqlite({ file: join(folder, 'another.db') })) });
// Another process, for one that has died.
const revoker = await openRevoker(access);
emit('tried', { revocation: await outcome(revoker.revoke(crashed, CALL)) });
const there = await Promise.all(['before', 'while/small', 'while/large'].map(async (key) => (await store.read(key, CALL)) !== undefined));
emit('read', { there });
ftruncateSync(ballast);
closeSync(ballast);
emit('tried', { swap: await put('while'), renewal: await outcome(store.renewLease(lease, LEASE_CALL)) });
emit('tried', { revocation: await outcome(revoker.revoke(crashed, CALL)), there: (await store.read('crashed', CALL)) !== undefined });
await revoker.close();
await store.close();
const database = new DatabaseSync(file);
emit('checked', { integrity: Object.values(database.prepare('PRAGMA integrity_check').get() ?? {})[0] });
database.close();
