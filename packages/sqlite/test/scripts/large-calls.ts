/**
 * Makes calls that change or read much at once. Reports after each call whether SQLite has used the
 * folder for temporary files, which `SQLITE_TMPDIR` names. Its argument: the file of the store.
 */

import { statSync, utimesSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

import type { LeaseOptions } from '@incumbent/core';
import { openSqlite } from '@incumbent/sqlite';
import { emit } from '@incumbent/test-support/child';

const [file = ''] = process.argv.slice(2);
const folder = process.env['SQLITE_TMPDIR'] ?? '';
const CALL: LeaseOptions = { timeoutMs: 20_000, at: { monotonicMs: 0, wallMs: 0 } };
const KEYS = 1_000;
const LARGE = 1_048_576;

/**
 * SQLite removes a temporary file as soon as it has created it. Only the time at which the folder
 * was changed shows that there was one.
 */
async function report(step: string, task: () => unknown): Promise<void> {
  utimesSync(folder, 0, 0);
  await task();
  emit('done', { step, temporary: statSync(folder).mtimeMs !== 0 });
}

const control = new DatabaseSync(':memory:');
await report('control', () => control.exec(`CREATE TEMP TABLE large AS SELECT zeroblob(${16 * LARGE})`));
control.close();

const store = await openSqlite({ file });
const put = (key: string, expect: string | null, fill: number): Promise<unknown> =>
  store.compareAndSwap([{ key, expect, put: new Uint8Array(LARGE).fill(fill) }], CALL);
await report('fill', async () => {
  for (let index = 0; index < 8; index += 1) await put(`large/${index}`, null, 0);
});
// Another content, because SQLite does not write a page that stays the same.
await report('replace', async () => put('large/0', (await store.read('large/0', CALL))?.revision ?? null, 1));
await report('list', () => store.list('large', CALL));
await report('listFirst', () => store.list('large', { ...CALL, first: 6 }));
await report('listLast', () => store.list('large', { ...CALL, last: 6 }));
const { id: lease } = await store.grantLease(60_000, CALL);
const changes = Array.from({ length: KEYS }, (_, index) => ({ key: `k/${index}`, expect: null, put: new Uint8Array(200), lease }));
await report('swap', () => store.compareAndSwap(changes, CALL));
await report('revoke', () => store.revokeLease(lease, CALL));
await store.close();
