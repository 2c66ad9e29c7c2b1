import { randomUUID } from 'node:crypto';
import { access, mkdir, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { setting } from '../settings.ts';

const WORKSPACE = fileURLToPath(new URL('../../../../', import.meta.url));

/** `INCUMBENT_CACHE`, or a folder within the workspace's `node_modules`. */
export function cacheFolder(): string {
  return setting('INCUMBENT_CACHE') ?? join(WORKSPACE, 'node_modules', '.cache', 'incumbent');
}

/**
 * A cache for what takes minutes to build, which every checkout of this user shares. It is
 * `INCUMBENT_CACHE`, or a folder in the user's own cache, or {@link cacheFolder} if this user
 * cannot have one.
 */
export async function lastingCacheFolder(): Promise<string> {
  const given = setting('INCUMBENT_CACHE');
  if (given !== undefined) return given;
  const folder = join(setting('XDG_CACHE_HOME') ?? join(homedir(), '.cache'), 'incumbent');
  return mkdir(folder, { recursive: true }).then(
    () => folder,
    () => cacheFolder(),
  );
}

/**
 * The folder of this name in a cache (default: {@link cacheFolder}). If it does not exist, `fill`
 * creates it. The folder appears complete or not at all. If several processes ask at the same time,
 * each fills a folder of its own, and the first one's stays.
 */
export async function cached(name: string, fill: (folder: string) => Promise<void>, cache: string = cacheFolder()): Promise<string> {
  const folder = join(cache, name);
  if (await exists(folder)) return folder;
  const draft = join(cache, 'drafts', randomUUID());
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
