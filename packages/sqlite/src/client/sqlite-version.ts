/**
 * Which versions of SQLite keep what they acknowledged. Up to 3.51.2 a checkpoint that runs while another process commits, just as the log begins anew,
 * can lose that commit, or damage the file (sqlite.org/wal.html#the_wal_reset_bug): a term could be issued twice. Fixed in 3.51.3, 3.50.7 and 3.44.6.
 */

import { StoreError } from '@incumbent/core/adapter';

import { textIn } from '../schema/columns.ts';
import type { Connection } from './connection.ts';

/** The first sound patch of each minor version that has one; every later minor version is. */
const SOUND: ReadonlyMap<string, number> = new Map([
  ['3.44', 6],
  ['3.50', 7],
  ['3.51', 3],
]);
const LAST_REPAIRED = 51;

/** Asked of the library itself: a distribution's Node may have another one than Node's own. */
export function checkEngine(connection: Connection): void {
  const version = textIn(connection.prepare('SELECT sqlite_version() AS version').get({}) ?? {}, 'version');
  if (isSound(version)) return;
  const message =
    `sqlite: this Node has SQLite ${version}, which can lose what it has acknowledged when several processes write (the WAL-reset bug). ` +
    'Use Node 22.23, 24.15, 26 or newer';
  throw new StoreError('UNSUPPORTED', 'refused', message, { details: { version } });
}

export function isSound(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number);
  const sound = SOUND.get(`${major}.${minor}`);
  return sound === undefined ? major > 3 || (major === 3 && minor > LAST_REPAIRED) : patch >= sound;
}
