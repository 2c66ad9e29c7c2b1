/**
 * Loads Node's SQLite, and refuses versions that can lose an acknowledged commit. Up to 3.51.2, a
 * checkpoint that runs while another process commits, at the moment when the log starts again from
 * its beginning, can lose that commit or damage the file (sqlite.org/wal.html#the_wal_reset_bug). A
 * lost commit could cause a term to be issued twice. Fixed in 3.51.3, 3.50.7 and 3.44.6.
 */

import { noSqlite, unsafeVersion } from '../errors.ts';
import { textIn } from '../schema/columns.ts';
import type { Connect, Connection } from '../schema/connection.ts';

/** The first patch with the fix, of each minor version that has one. */
const FIXED: ReadonlyMap<string, number> = new Map([
  ['3.44', 6],
  ['3.50', 7],
  ['3.51', 3],
]);
/** Every later minor version has the fix from its first patch. */
const LAST_MINOR = 51;

/** Loads Node's SQLite. Rejects with a `StoreError` (`UNSUPPORTED`) if this Node has none. */
export async function connector(): Promise<Connect> {
  try {
    const { DatabaseSync } = await import('node:sqlite');
    return (path) => new DatabaseSync(path);
  } catch (cause) {
    throw noSqlite(cause);
  }
}

/**
 * Throws `UNSUPPORTED` for an unsafe version. Asks the library itself, because a distribution may
 * link Node with another version than Node was released with.
 */
export function checkVersion(connection: Connection): void {
  const version = textIn(connection.prepare('SELECT sqlite_version() AS version').get({}) ?? {}, 'version');
  if (!isSafe(version)) throw unsafeVersion(version);
}

export function isSafe(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number);
  const fixed = FIXED.get(`${major}.${minor}`);
  return fixed === undefined ? major > 3 || (major === 3 && minor > LAST_MINOR) : patch >= fixed;
}
