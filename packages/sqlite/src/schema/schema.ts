/** The tables, and whose file it is. */

import { StoreError } from '@incumbent/core/adapter';

import { numberIn } from './columns.ts';
import type { Connection } from '../client/connection.ts';
import { checkEngine } from '../client/sqlite-version.ts';

/** "Incb": says whose file it is, to us and to `file(1)`. */
const APPLICATION_ID = 0x49_6e_63_62;
const VERSION = 2;

/** Whoever has not looked for so many changes compares all that it watches; the others are told what has gone. */
export const CHANGES_KEPT = 1_000;

/**
 * A key's revision and its place in the order of creation come from one counter, which rises with every change of any key. It begins anywhere, so that what was known of a
 * file that was removed fits nothing in the one that took its place. A lease ends at a moment of
 * one boot of one host, or with its process, where that can be seen. An end is shown at once, whether its rows are swept away yet or not. What was deleted lately stands in
 * `gone`. The triggers are for operators, too: what they delete with the `sqlite3` shell is noticed.
 */
const TABLES = `
  CREATE TABLE store (only_row INTEGER PRIMARY KEY CHECK (only_row = 1), revision INTEGER NOT NULL) STRICT;
  INSERT INTO store VALUES (1, abs(random() % 1000000000000));
  CREATE TABLE leases (
    id TEXT PRIMARY KEY,
    ttl_us INTEGER NOT NULL,
    ends_at_us INTEGER NOT NULL,
    machine TEXT NOT NULL,
    boot TEXT NOT NULL,
    space TEXT,
    pid INTEGER,
    started TEXT
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX leases_by_end ON leases (ends_at_us);
  CREATE TABLE keys (
    key TEXT PRIMARY KEY,
    value BLOB NOT NULL,
    revision INTEGER NOT NULL,
    created INTEGER NOT NULL,
    lease TEXT REFERENCES leases
  ) STRICT;
  CREATE INDEX keys_by_revision ON keys (revision);
  CREATE INDEX keys_by_lease ON keys (lease) WHERE lease IS NOT NULL;
  CREATE TABLE gone (revision INTEGER PRIMARY KEY, key TEXT NOT NULL) STRICT;
  CREATE TRIGGER lease_ended AFTER DELETE ON leases BEGIN DELETE FROM keys WHERE lease = old.id; END;
  CREATE TRIGGER key_deleted AFTER DELETE ON keys BEGIN
    UPDATE store SET revision = revision + 1;
    INSERT OR REPLACE INTO gone SELECT revision, old.key FROM store;
    DELETE FROM gone WHERE revision <= (SELECT revision FROM store) - ${CHANGES_KEPT};
  END;
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${VERSION};
`;

/**
 * Makes the tables in a file that has none. Throws `UNSUPPORTED` for a SQLite that is not sound, a file that is another application's, before anything in it is changed, and for one of
 * a later version.
 */
export function prepare(connection: Connection, path: string): void {
  checkEngine(connection);
  connection.exec('PRAGMA busy_timeout = 0');
  const isNew = !inOneState(connection, () => isOurs(connection, path));
  checkMode(connection, path);
  // NORMAL can lose the last commits with the power, not with a process: enough for what lives by a lease (sqlite.org/pragma.html#pragma_synchronous).
  connection.exec('PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA journal_size_limit = 16777216');
  if (isNew) create(connection, path);
}

/** Between two statements by themselves another process may have made the tables. A connection on which this throws is closed. */
function inOneState<T>(connection: Connection, look: () => T): T {
  connection.exec('BEGIN');
  const seen = look();
  connection.exec('END');
  return seen;
}

/** False: it is empty. */
function isOurs(connection: Connection, path: string): boolean {
  const id = pragma(connection, 'application_id');
  if (id !== APPLICATION_ID) {
    const { tables } = connection.prepare('SELECT count(*) AS tables FROM sqlite_schema').get({}) ?? {};
    if (id === 0 && tables === 0) return false;
    throw new StoreError(
      'UNSUPPORTED',
      'refused',
      `sqlite: ${path} is another application's database: give the election a file of its own`,
    );
  }
  const version = pragma(connection, 'user_version');
  if (version === VERSION) return true;
  throw new StoreError('UNSUPPORTED', 'refused', `sqlite: ${path} is of format ${version}, and this package knows format ${VERSION}`);
}

function checkMode(connection: Connection, path: string): void {
  const { journal_mode: mode } = connection.prepare('PRAGMA journal_mode = WAL').get({}) ?? {};
  if (mode === 'wal') return;
  throw new StoreError(
    'UNSUPPORTED',
    'refused',
    `sqlite: ${path} cannot have a write-ahead log where it lies (journal mode ${String(mode)})`,
  );
}

/** What fails leaves the transaction open, or rolled back by SQLite: whoever opened the connection closes it, which undoes all. */
function create(connection: Connection, path: string): void {
  connection.exec('BEGIN IMMEDIATE');
  // Another process may have been faster.
  if (!isOurs(connection, path)) connection.exec(TABLES);
  connection.exec('COMMIT');
}

function pragma(connection: Connection, name: string): number {
  return numberIn(connection.prepare(`PRAGMA ${name}`).get({}) ?? {}, name);
}
