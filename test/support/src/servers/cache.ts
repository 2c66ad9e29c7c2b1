import { randomUUID } from 'node:crypto';
import { access, mkdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { setting } from '../settings.ts';

const WORKSPACE = fileURLToPath(new URL('../../../../', import.meta.url));

/** `INCUMBENT_CACHE`, or a folder within the workspace's `node_modules`. */
export function cacheFolder(): string {
  return setting('INCUMBENT_CACHE') ?? join(WORKSPACE, 'node_modules', '.cache', 'incumbent');
}

/**
 * The cached folder of this name. If it does not exist, `fill` creates it. The folder appears
 * complete or not at all. If several processes ask at the same time, each fills a folder of its
 * own, and the first one's stays.
 */
export async function cached(name: string, fill: (folder: string) => Promise<void>): Promise<string> {
  const folder = join(cacheFolder(), name);
  if (await exists(folder)) return folder;
  const draft = join(cacheFolder(), 'drafts', randomUUID());
  try {
    await mkdir(draft, { recursive: true });
    await fill(draft);
    await mkdir(dirname(folder), { recursive: true });
    await rename(draft, folder).catch(async (error: unknown) => {
      if (!(await exists(folder))) throw error;
    });
    return folder;
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

export async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
