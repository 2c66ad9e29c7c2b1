import { createHash } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { run } from '../run.ts';
import { downloadPackages, missingPackages } from './apt.ts';
import { cached, cacheFolder, exists } from './cache.ts';
import { withLock } from './lock.ts';
import { keepLinksWithin } from './symlinks.ts';

/** The Debian release with the newer servers. */
export const NEWER_RELEASE = 'trixie';

export interface PackagesOptions {
  readonly names: readonly string[];
  /** A Debian release. Default: this machine's own. */
  readonly release?: string;
  /** Whether to include all that they need and that is not installed. Default false. */
  readonly dependencies?: boolean;
  /** The name of the folder. Default: {@link folderNameOf} the packages. */
  readonly as?: string;
}

/** For one package, on a machine that is busy. */
const UNPACK_TIMEOUT_MS = 300_000;

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
 * named, or with `dependencies`.
 */
export async function unpackedPackages({ as, ...options }: PackagesOptions): Promise<string> {
  const { names, release = 'own' } = options;
  const name = join('packages', `${release}-${process.arch}`, as ?? folderNameOf(names));
  const folder = join(cacheFolder(), name);
  if (await exists(folder)) return folder;
  // Where there is no apt, the error says so, and not that there is no lock.
  await run('apt-get', ['--version']);
  // The workers of a run need the same packages at the same time, and each would download them.
  return withLock(`${folder}.lock`, () => cached(name, (draft) => unpackPackages(options, draft)));
}

/** The same for a folder that the caller provides and that is not kept in the cache. */
export async function unpackPackages({ names, release, dependencies = false }: Omit<PackagesOptions, 'as'>, folder: string): Promise<void> {
  const downloads = await mkdtemp(join(tmpdir(), 'incumbent-apt-'));
  try {
    await downloadPackages(dependencies ? await missingPackages(names, downloads, release) : names, downloads, release);
    const files = (await readdir(downloads)).filter((file) => file.endsWith('.deb'));
    for (const file of files) await run('dpkg-deb', ['-x', join(downloads, file), folder], { timeoutMs: UNPACK_TIMEOUT_MS });
    await keepLinksWithin(folder);
  } finally {
    await rm(downloads, { recursive: true, force: true });
  }
}
