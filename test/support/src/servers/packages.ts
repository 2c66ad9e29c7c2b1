import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { run } from '../run.ts';
import { downloadPackages } from './apt.ts';
import { cached } from './cache.ts';
import { keepLinksWithin } from './symlinks.ts';

/** The release of Debian that has newer servers than the one before. */
export const NEWER_RELEASE = 'trixie';

export interface PackagesOptions {
  readonly names: readonly string[];
  /** A release of Debian; this machine's own by default. */
  readonly release?: string;
  /** What the folder is called; the packages' names by default. */
  readonly as?: string;
}

/**
 * A folder with the contents of Debian packages, unpacked there and nowhere else: nothing is
 * installed, no script of a package runs, no service starts. What a package depends on is not
 * there, unless it is named, too.
 */
export function unpackedPackages({ names, release, as = names.join('+') }: PackagesOptions): Promise<string> {
  const name = join('packages', `${release ?? 'own'}-${process.arch}`, as);
  return cached(name, async (folder) => {
    const downloads = await mkdtemp(join(tmpdir(), 'incumbent-apt-'));
    try {
      await downloadPackages(names, downloads, release);
      const files = (await readdir(downloads)).filter((file) => file.endsWith('.deb'));
      for (const file of files) await run('dpkg-deb', ['-x', join(downloads, file), folder]);
      await keepLinksWithin(folder);
    } finally {
      await rm(downloads, { recursive: true, force: true });
    }
  });
}
