import { lstat, readdir, readlink, rm, symlink } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';

/**
 * Packages contain links to the installed paths of files. If such a file is in the folder, the link
 * is changed to point to it.
 */
export async function keepLinksWithin(folder: string): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const links = entries.filter((entry) => entry.isSymbolicLink()).map(({ parentPath, name }) => join(parentPath, name));
  await Promise.all(links.map((link) => keepWithin(folder, link)));
}

async function keepWithin(folder: string, link: string): Promise<void> {
  const target = await readlink(link);
  const inside = join(folder, target);
  if (!target.startsWith('/') || !(await isThere(inside))) return;
  await rm(link);
  await symlink(relative(dirname(link), inside), link);
}

function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}
