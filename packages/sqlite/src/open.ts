/** Opens the store: looks at the place, makes what is missing, and whose machine's leases are in it. */

import type { Store } from '@incumbent/core';

import { Attempts } from './client/calls.ts';
import { connector, type Connect } from './client/connection.ts';
import { Database } from './client/database.ts';
import { warnOfExposure } from './host/file-permissions.ts';
import { readHost, type Host } from './host/host.ts';
import { refuseForeign } from './leases.ts';
import { readOptions, type SqliteOptions, type SqliteSettings } from './options.ts';
import { checkPlace } from './host/database-path.ts';
import { SqliteStore } from './store.ts';

/**
 * Opens a file in which the processes of one host elect: `sqlite:./state.db`, `sqlite:/var/lib/app/state.db?namespace=my-app`, or options. The file is
 * made if it is absent, for its owner alone (mode 600). Where its group or others may use it, or replace it, a process warning says so
 * (`INCUMBENT_FILE_EXPOSED`).
 *
 * Rejects within `connectTimeoutMs` with a `StoreError`: `UNREACHABLE` (no such folder), `PERMISSION_DENIED` (file or folder cannot be written),
 * `UNAVAILABLE` (locked for longer than that, disk full), `UNSUPPORTED` (no database, another application's, a file system that machines share, a Node
 * without SQLite, or with a version of it that loses what it has acknowledged), `SHARED_FILE` (in use by another machine), `CORRUPT`. Throws a `TypeError` or `RangeError` with the code `INVALID_OPTION` for options
 * that cannot be used.
 */
export async function openSqlite(urlOrOptions: string | SqliteOptions): Promise<Store> {
  return openOn(await connector(), readHost(), readOptions(urlOrOptions));
}

/** As `openSqlite`, on any SQLite and any host. */
export async function openOn(connect: Connect, host: Host, settings: SqliteSettings): Promise<SqliteStore> {
  const path = checkPlace(settings.file);
  const database = new Database(path, host, connect);
  const attempts = new Attempts(path);
  try {
    await attempts.run(() => takeOver(database, settings), { timeoutMs: settings.connectTimeoutMs });
    warnOfExposure(path, settings.file);
    return new SqliteStore(database, attempts, host, settings);
  } catch (error) {
    database.close();
    throw error;
  }
}

function takeOver(database: Database, { moved }: SqliteSettings): void {
  // Almost always there is nothing to do, and the file need not be locked for it.
  if (database.look((tables) => tables.foreign()).length === 0) return checkWritable(database);
  database.change(true, (tables) => {
    if (moved) tables.endLeases(tables.foreign().map(({ id }) => id));
    refuseForeign(tables, database.path);
  });
}

/** Told now, and not when the first election begins. */
function checkWritable(database: Database): void {
  database.change(false, (tables) => tables.sweep());
}
