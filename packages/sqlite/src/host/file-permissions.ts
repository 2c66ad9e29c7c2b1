/**
 * Creates the file for its owner alone, and finds out which other users could use it. Does nothing
 * on Windows, where file modes do not tell this.
 */

import { closeSync, fchmodSync, lstatSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

const OWNER_ONLY = 0o600;
const GROUP_OR_OTHERS = 0o077;
const WRITABLE_BY_GROUP_OR_OTHERS = 0o022;
/** In a folder with this bit, a user cannot remove or rename another user's file. */
const STICKY = 0o1000;
const ABSENT = { throwIfNoEntry: false } as const;

/**
 * Creates the file for its owner alone, whatever the umask, unless the file exists. SQLite gives
 * the log and the index beside it the same mode. Closing a descriptor of a file releases the locks
 * that the process has on it, but a file that has just been created has none.
 */
export function createPrivate(path: string): void {
  if (process.platform === 'win32') return;
  try {
    const file = openSync(path, 'wx', OWNER_ONLY);
    fchmodSync(file, OWNER_ONLY);
    closeSync(file);
  } catch {
    // The file exists already. SQLite reports every other problem when it opens the file.
  }
}

/**
 * The files that SQLite reads when it opens a database: the database, its log, the index of the
 * log, and a journal to roll back.
 */
const SUFFIXES = ['', '-wal', '-shm', '-journal'];

/**
 * Returns what other users can do to the elections of a file, one sentence each. `path` is the true
 * path; `named` is the path that the caller gave, which may be a symbolic link. `trusted` lists the
 * users who may own the files: this process's user and root.
 *
 * The result is empty if all files and the folder belong to `trusted` users, and nobody else may
 * use the files or write to the folder.
 *
 * Never safe: a folder that others may write to, such as `/tmp` with mode 1777. The sticky bit
 * keeps other users from removing or replacing the file. But SQLite removes the `-wal` when the
 * last process closes the file. Another user can then create a `-wal` or a `-journal`, and SQLite
 * takes its content for that of the database. Before the first opening, the other user can create
 * the database.
 *
 * Not checked: the folders above the file's own, and access control lists.
 */
export function exposureOf(path: string, named: string = path, trusted: readonly number[] = trustedUsers()): readonly string[] {
  if (process.platform === 'win32') return [];
  const links = lstatSync(named, ABSENT)?.isSymbolicLink() === true ? [named] : [];
  return [
    ...[...SUFFIXES.map((suffix) => path + suffix), ...links].flatMap((file) => fileWarnings(file, lstatSync(file, ABSENT)?.uid, trusted)),
    ...modeWarnings(path),
    ...[path, ...links].flatMap((file) => folderWarnings(file, trusted)),
  ];
}

function fileWarnings(file: string, uid: number | undefined, trusted: readonly number[]): readonly string[] {
  if (uid === undefined || trusted.includes(uid)) return [];
  return [`${file} belongs to user ${uid}, who can change all elections in it. Use a file that belongs to the user of this process`];
}

function modeWarnings(path: string): readonly string[] {
  const mode = statSync(path, ABSENT)?.mode ?? 0;
  if ((mode & GROUP_OR_OTHERS) === 0) return [];
  return [
    `${path} has the mode ${octal(mode)}: its group or others can read what is published, and can stop all elections by a lock on the file. ` +
      'Let its owner alone use it (chmod 600), and its -wal and -shm',
  ];
}

function folderWarnings(file: string, trusted: readonly number[]): readonly string[] {
  const { mode, uid } = statSync(dirname(file), ABSENT) ?? {};
  if (mode === undefined || uid === undefined) return [];
  const folder = `the folder of ${file}`;
  const warnings: string[] = [];
  if (!trusted.includes(uid)) warnings.push(`${folder} belongs to user ${uid}, who can remove or replace the file`);
  if ((mode & WRITABLE_BY_GROUP_OR_OTHERS) !== 0)
    warnings.push(`${folder} has the mode ${octal(mode)}: its group or others can ${powerIn(mode)}. Let its owner alone write to it`);
  return warnings;
}

function powerIn(mode: number): string {
  if ((mode & STICKY) === 0) return 'remove or replace the file';
  return 'put a -wal or a -journal of their own beside the file while no process uses it, and so change all elections in it';
}

function trustedUsers(): readonly number[] {
  return [0, process.geteuid?.() ?? 0];
}

const emitted = new Set<string>();

/** Emits a process warning (`INCUMBENT_FILE_EXPOSED`) for each sentence, once per process. */
export function warnOfExposure(path: string, named: string): void {
  for (const warning of exposureOf(path, named)) {
    if (emitted.has(warning)) continue;
    emitted.add(warning);
    process.emitWarning(`sqlite: ${warning}`, { code: 'INCUMBENT_FILE_EXPOSED' });
  }
}

function octal(mode: number): string {
  return (mode & 0o1777).toString(8).padStart(3, '0');
}
