/** The tables of the file, and the checks that a file is this package's own. */

import { unsuitableFile } from '../errors.ts';
import { numberIn } from './columns.ts';
import type { Connection } from './connection.ts';

/** "Incb": marks the file as this package's, for this package and for `file(1)`. */
const APPLICATION_ID = 0x49_6e_63_62;
const VERSION = 2;

/** How many deletions the file remembers. A reader that missed more compares everything. */
export const CHANGES_KEPT = 1_000;

/**
 * - `store.revision` is one counter for the revisions of keys and for the order of creation. It
 *   rises with every change of any key. It starts at a random number, so that revisions of a file
 *   that was removed do not fit the file that replaced it.
 * - `leases.ends_at_us` is a time of the monotonic clock of one boot of one machine. `space`, `pid`
 *   and `started` identify the process that holds the lease, if its death can be seen.
 * - A lease that has ended counts as ended at once, whether its rows were deleted yet or not.
 * - `gone` has the keys that were deleted lately.
 * - The triggers also serve operators: watches notice rows deleted with the `sqlite3` shell.
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

/** Copies the log into the file as far as readers allow, and waits for nobody. */
export const CHECKPOINT = 'PRAGMA wal_checkpoint(PASSIVE)';

/**
 * Creates the tables in an empty file. Throws `UNSUPPORTED` for a file of another application,
 * before changing anything in it, for a file of another format, and where SQLite cannot keep a
 * write-ahead log.
 */
export function prepare(connection: Connection, path: string): void {
  // Temporary data in memory: there may be no folder for temporary files, as in a container with a
  // read-only root file system. A lease with many keys could not be ended there.
  connection.exec('PRAGMA busy_timeout = 0; PRAGMA temp_store = MEMORY');
  const isNew = !inOneState(connection, () => isOurs(connection, path));
  setWriteAheadLog(connection, path);
  // FULL to begin with. NORMAL, which the database sets for changes that a lease bounds, can lose
  // the last commits when the power fails, but not when a process dies
  // (sqlite.org/pragma.html#pragma_synchronous).
  connection.exec('PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA journal_size_limit = 16777216');
  if (!isNew) return;
  create(connection, path);
  try {
    // The file has room for its tables from now on: a checkpoint on a full disk need not find it.
    connection.exec(CHECKPOINT);
  } catch {
    // The tables are in the log, which is enough.
  }
}

/**
 * Runs several reads on one state of the file; without the transaction, another process could
 * create the tables between two of them. If `read` throws, the caller closes the connection.
 */
function inOneState<T>(connection: Connection, read: () => T): T {
  connection.exec('BEGIN');
  const result = read();
  connection.exec('END');
  return result;
}

/** False: the file is empty. Throws for a file that this package did not make. */
function isOurs(connection: Connection, path: string): boolean {
  const id = pragma(connection, 'application_id');
  if (id !== APPLICATION_ID) {
    const { tables } = connection.prepare('SELECT count(*) AS tables FROM sqlite_schema').get({}) ?? {};
    if (id === 0 && tables === 0) return false;
    throw unsuitableFile(path, "is another application's database: give the election a file of its own");
  }
  const version = pragma(connection, 'user_version');
  if (version === VERSION) return true;
  throw unsuitableFile(path, `is of format ${version}, and this package knows format ${VERSION}`);
}

function setWriteAheadLog(connection: Connection, path: string): void {
  const { journal_mode: mode } = connection.prepare('PRAGMA journal_mode = WAL').get({}) ?? {};
  if (mode === 'wal') return;
  throw unsuitableFile(path, `cannot have a write-ahead log on its file system (journal mode ${String(mode)})`);
}

/**
 * An error leaves the transaction open, or SQLite has rolled it back. Closing the connection, which
 * is the caller's job, undoes everything in both cases.
 */
function create(connection: Connection, path: string): void {
  connection.exec('BEGIN IMMEDIATE');
  // Another process may have created them meanwhile.
  if (!isOurs(connection, path)) connection.exec(TABLES);
  connection.exec('COMMIT');
}

function pragma(connection: Connection, name: string): number {
  return numberIn(connection.prepare(`PRAGMA ${name}`).get({}) ?? {}, name);
}
