/** Who besides its owner may use the file. On Windows file modes say nothing, and nothing is said here. */

import { closeSync, fchmodSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

const OWNER_ONLY = 0o600;
const GROUP_OR_OTHERS = 0o077;
const WRITABLE_BY_GROUP_OR_OTHERS = 0o022;
/** In such a folder nobody removes or renames what another one owns. */
const STICKY = 0o1000;

/**
 * Makes the file for its owner alone, whatever the umask, unless it is there. SQLite gives the log and the index beside it the same mode. To close a
 * descriptor of a database gives up the locks that the process has on it: of a file that is made here nobody has any yet.
 */
export function makePrivate(path: string): void {
  if (process.platform === 'win32') return;
  try {
    const file = openSync(path, 'wx', OWNER_ONLY);
    fchmodSync(file, OWNER_ONLY);
    closeSync(file);
  } catch {
    // It is there already; or SQLite, which makes it otherwise, says what is wrong.
  }
}

/** What others may do that they should not, a sentence each. */
export function exposureOf(path: string): readonly string[] {
  if (process.platform === 'win32') return [];
  const [file, folder] = [modeOf(path), modeOf(dirname(path))];
  const warnings: string[] = [];
  if ((file & GROUP_OR_OTHERS) !== 0)
    warnings.push(
      `${path} has the mode ${octal(file)}: its group or others can read what is published, and can stop all elections by a lock on the file. ` +
        'Let its owner alone use it (chmod 600), and its -wal and -shm',
    );
  if ((folder & WRITABLE_BY_GROUP_OR_OTHERS) !== 0 && (folder & STICKY) === 0)
    warnings.push(
      `the folder of ${path} has the mode ${octal(folder)}: its group or others can remove or replace the file. Let its owner alone write to it`,
    );
  return warnings;
}

const said = new Set<string>();

/** The same once in a process. */
export function warnOfExposure(path: string): void {
  for (const warning of exposureOf(path)) {
    if (said.has(warning)) continue;
    said.add(warning);
    process.emitWarning(`sqlite: ${warning}`, { code: 'INCUMBENT_FILE_EXPOSED' });
  }
}

function modeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mode ?? 0;
}

function octal(mode: number): string {
  return (mode & 0o777).toString(8).padStart(3, '0');
}
