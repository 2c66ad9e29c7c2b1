/** A file, and the processes of one host. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { makeScratch, until } from '@incumbent/test-support';
import { NAMESPACE, RECORD } from '../names.ts';
import { holdersEntry } from './operator.ts';
import type { Site } from './site.ts';

/**
 * A process that is stopped in the middle of a write blocks all other writers, including an
 * operator. In ms.
 */
const BUSY_MS = 2_000;

export async function openSqliteSite(): Promise<Site> {
  const folder = await makeScratch('chaos-sqlite');
  const file = join(folder.path, 'state.db');
  const url = `sqlite:${file}?namespace=${NAMESPACE}`;
  return {
    store: 'sqlite',
    version: versionOf(),
    url,
    serverUrls: [],
    servers: [],
    leader: () => Promise.reject(new Error('a file has no leader')),
    openWay: async () => ({ url, proxies: [], oneAddress: false }),
    deleteRecord: () => deleted(file, RECORD),
    deleteEntry: async () => deleted(file, await holdersEntry(url)),
    mayEndEarly: false,
    [Symbol.asyncDispose]: () => folder.remove(),
  };
}

function versionOf(): string {
  const database = new DatabaseSync(':memory:');
  try {
    return String(database.prepare('SELECT sqlite_version() AS version').get()?.['version']);
  } finally {
    database.close();
  }
}

async function deleted(file: string, key: string): Promise<void> {
  await until(() => deleteFrom(file, key), { what: 'a key to delete', withinMs: BUSY_MS, everyMs: 100 });
}

/**
 * Deletes a key as the `sqlite3` shell would. It must not wait, because this process also serves
 * others.
 */
function deleteFrom(file: string, key: string): true {
  const database = new DatabaseSync(file, { timeout: 0 });
  try {
    assert.equal(database.prepare('DELETE FROM keys WHERE key = ?').run(key).changes, 1);
    return true;
  } finally {
    database.close();
  }
}
