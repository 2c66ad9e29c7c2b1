/**
 * Opens a store at the same moment as many other processes. Its arguments: the file, and another
 * file whose creation is the signal to start.
 */

import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

import { openSqlite } from '@incumbent/sqlite';
import { emit } from '@incumbent/test-support/child';

const [file = '', word = ''] = process.argv.slice(2);
emit('ready');
while (!existsSync(word)) await sleep(10);
try {
  const store = await openSqlite({ file, connectTimeoutMs: 60_000 });
  await store.compareAndSwap([{ key: `opened/${process.pid}`, expect: null, put: new Uint8Array() }], { timeoutMs: 60_000 });
  await store.close();
  emit('opened');
} catch (error) {
  emit('failed', { error: String(error) });
}
