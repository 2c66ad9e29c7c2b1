import { rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A folder of one's own under the system's temporary folder. */
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
 * Makes a folder that goes at the latest when this process exits of itself. After a SIGKILL it is
 * up to the supervisors of what runs in it.
 */
export async function makeScratch(name: string): Promise<Scratch> {
  const path = await mkdtemp(join(tmpdir(), `incumbent-${name}-`));
  if (left.size === 0) process.on('exit', removeAll);
  left.add(path);
  return {
    path,
    async remove() {
      // A killed server's last files may still be appearing: hence the retries.
      await rm(path, { recursive: true, force: true, maxRetries: 5 });
      left.delete(path);
      if (left.size === 0) process.off('exit', removeAll);
    },
  };
}
