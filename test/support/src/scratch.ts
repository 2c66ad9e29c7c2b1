import { rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
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

/**
 * Creates a folder that is removed at the latest when this process exits normally. After a SIGKILL
 * the supervisors of the processes in it must remove it.
 */
export async function makeScratch(name: string): Promise<Scratch> {
  const path = await mkdtemp(join(tmpdir(), `incumbent-${name}-`));
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
