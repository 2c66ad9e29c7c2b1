import { rmSync } from 'node:fs';
import { mkdtemp, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A new folder under the system's temporary folder. */
export interface Scratch {
  readonly path: string;
  /** Idempotent. */
  remove(): Promise<void>;
}

const left = new Set<string>();

function removeAll(): void {
  for (const path of left) rmSync(path, { recursive: true, force: true });
}

const MEMORY = '/dev/shm';
const MEMORY_BYTES = 2 * 2 ** 30;

/**
 * The parent folder for data of servers that write all their files to the disk when they start: the
 * system's folder in memory if it has 2 GiB free, otherwise the temporary folder.
 */
export async function quickFolder(): Promise<string> {
  const free = await statfs(MEMORY).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => 0,
  );
  return free >= MEMORY_BYTES ? MEMORY : tmpdir();
}

/**
 * Creates a folder that is removed at the latest when this process exits normally. After a SIGKILL
 * the supervisors of the processes in it must remove it. `parent`: default the system's temporary
 * folder.
 */
export async function makeScratch(name: string, parent = tmpdir()): Promise<Scratch> {
  const path = await mkdtemp(join(parent, `incumbent-${name}-`));
  if (left.size === 0) process.on('exit', removeAll);
  left.add(path);
  return {
    path,
    async remove() {
      // A killed server may still be writing its last files, hence the retries.
      await rm(path, { recursive: true, force: true, maxRetries: 5 });
      left.delete(path);
      if (left.size === 0) process.off('exit', removeAll);
    },
  };
}
