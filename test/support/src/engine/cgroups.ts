import { randomBytes } from 'node:crypto';
import { readdir, rmdir } from 'node:fs/promises';
import { join } from 'node:path';

const ROOT = '/sys/fs/cgroup';
const NAME = /^incumbent-engine-(?<pid>\d+)-/;

/**
 * The name of a new group of processes, for one engine's containers; it tells whose engine that is.
 */
export function newCgroup(): string {
  return `incumbent-engine-${process.pid}-${randomBytes(6).toString('hex')}`;
}

/**
 * Removes the groups of this name, and those of engines whose owners were killed, as far as nobody
 * is in them.
 */
export async function removeCgroups(own?: string): Promise<void> {
  // Version 1 has a tree for each kind of resource, version 2 one for all.
  for (const tree of [ROOT, ...(await foldersIn(ROOT))]) {
    const groups = await foldersIn(tree);
    await Promise.all(groups.filter((group) => group === join(tree, own ?? '') || isAbandoned(group)).map(removeTree));
  }
}

function isAbandoned(group: string): boolean {
  const pid = NAME.exec(group.slice(group.lastIndexOf('/') + 1))?.groups?.['pid'];
  return pid !== undefined && !isAlive(Number(pid));
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH');
  }
}

/** Not by `rm`: what is in a group are no files, and cannot be removed. */
async function removeTree(group: string): Promise<void> {
  for (const child of await foldersIn(group)) await removeTree(child);
  await rmdir(group).catch(() => {});
}

async function foldersIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(folder, name));
}
