import { createHash } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { run } from '../run.ts';
import { downloadPackages } from './apt.ts';
import { cached } from './cache.ts';
import { keepLinksWithin } from './symlinks.ts';

/** The Debian release with the newer servers. */
export const NEWER_RELEASE = 'trixie';

export interface PackagesOptions {
  readonly names: readonly string[];
  /** A Debian release. Default: this machine's own. */
  readonly release?: string;
  /** The name of the folder. Default: {@link folderNameOf} the packages. */
  readonly as?: string;
}

/** File systems accept 255 bytes in a name. */
const MAX_NAME = 200;

/** The names of the packages, or the first one and a hash of all if they are too long together. */
export function folderNameOf(names: readonly string[]): string {
  const all = names.join('+');
  if (all.length <= MAX_NAME) return all;
  return `${names[0]}+${createHash('sha256').update(all).digest('hex').slice(0, 16)}`;
}

/**
 * A folder with the unpacked contents of Debian packages. Nothing is installed, no script of a
 * package runs, and no service starts. Dependencies of a package are included only if they are
 * named.
 */
export function unpackedPackages({ names, release, as = folderNameOf(names) }: PackagesOptions): Promise<string> {
  const name = join('packages', `${release ?? 'own'}-${process.arch}`, as);
  return cached(name, (folder) => unpackPackages({ names, ...(release === undefined ? {} : { release }) }, folder));
}

/** The same for a folder that the caller provides and that is not kept in the cache. */
export async function unpackPackages({ names, release }: Omit<PackagesOptions, 'as'>, folder: string): Promise<void> {
  const downloads = await mkdtemp(join(tmpdir(), 'incumbent-apt-'));
  try {
    await downloadPackages(names, downloads, release);
    const files = (await readdir(downloads)).filter((file) => file.endsWith('.deb'));
    for (const file of files) await run('dpkg-deb', ['-x', join(downloads, file), folder]);
    await keepLinksWithin(folder);
  } finally {
    await rm(downloads, { recursive: true, force: true });
  }
}
