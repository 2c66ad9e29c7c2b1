/**
 * Opens a store: checks the path, creates what is missing, and refuses a file of another machine.
 */

import type { Store } from '@incumbent/core';

import { Calls } from './client/calls.ts';
import { Database } from './client/database.ts';
import { connector } from './client/node-sqlite.ts';
import { checkDatabasePath } from './host/database-path.ts';
import { warnOfExposure } from './host/file-permissions.ts';
import { readHost, type Host } from './host/host.ts';
import { refuseOtherMachines } from './leases.ts';
import { readOptions, type SqliteOptions, type SqliteSettings } from './options.ts';
import type { Connect } from './schema/connection.ts';
import type { Tables } from './schema/tables.ts';
import { SqliteStore } from './store.ts';

/**
 * Opens a file in which the processes of one host elect. Takes a URL, such as `sqlite:./state.db`
 * or `sqlite:/var/lib/app/state.db?namespace=my-app`, or options.
 *
 * Creates the file if it is absent, for its owner alone (mode 600). Emits a process warning
 * (`INCUMBENT_FILE_EXPOSED`) if other users could use or replace the file.
 *
 * @throws {StoreError} within `connectTimeoutMs`:
 * - `UNREACHABLE`: the folder does not exist
 * - `PERMISSION_DENIED`: the file or the folder is not writable
 * - `UNAVAILABLE`: the file is locked for longer than `connectTimeoutMs`, or the disk is full
 * - `UNSUPPORTED`: the file is not a database or belongs to another application, its file system is
 *   shared by machines, or Node has no SQLite or a version that loses acknowledged commits
 * - `SHARED_FILE`: another machine uses the file
 * - `CORRUPT`: the file is damaged
 * @throws {TypeError | RangeError} `INVALID_OPTION`
 */
export async function openSqlite(urlOrOptions: string | URL | SqliteOptions): Promise<Store> {
  return openOn(await connector(), readHost(), readOptions(urlOrOptions));
}

/** Like `openSqlite`, with the given SQLite library and host. */
export async function openOn(connect: Connect, host: Host, settings: SqliteSettings): Promise<SqliteStore> {
  const path = checkDatabasePath(settings.file);
  const database = new Database(path, host, connect);
  const calls = new Calls(database);
  try {
    await calls.run(() => refuseOrTakeOver(database, settings), { timeoutMs: settings.connectTimeoutMs });
    warnOfExposure(path, settings.file);
    return new SqliteStore(database, calls, host, settings);
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Refuses a file with leases of another machine, or with `moved` removes those leases. */
function refuseOrTakeOver(database: Database, { moved }: SqliteSettings): void {
  // Nearly always there are no such leases. Finding that out does not lock the file.
  if (database.read((tables) => tables.foreignLeases()).length === 0) return checkWritable(database);
  const work = (tables: Tables): void => {
    if (moved) tables.endLeases(tables.foreignLeases().map(({ id }) => id));
    refuseOtherMachines(tables, database.path);
  };
  database.write(work, { durable: true });
}

/** Reports a file that cannot be written now, instead of when the first election starts. */
function checkWritable(database: Database): void {
  database.write((tables) => tables.deleteEndedLeases());
}
