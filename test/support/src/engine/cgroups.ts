import { randomBytes } from 'node:crypto';
import { readdir, rmdir } from 'node:fs/promises';
import { join } from 'node:path';

const ROOT = '/sys/fs/cgroup';
const NAME = /^incumbent-engine-(?<pid>\d+)-/;

/**
 * The name of a new control group for the containers of one engine. It identifies the engine's
 * owner.
 */
export function newCgroup(): string {
  return `incumbent-engine-${process.pid}-${randomBytes(6).toString('hex')}`;
}

/**
 * Removes the control groups of this name, and those of engines whose owners were killed, if they
 * are empty.
 */
export async function removeCgroups(own?: string): Promise<void> {
  // Version 1 has a tree for each kind of resource, and version 2 has one tree.
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

/** `rm` fails, because the entries of a control group are not files that can be removed. */
async function removeTree(group: string): Promise<void> {
  for (const child of await foldersIn(group)) await removeTree(child);
  await rmdir(group).catch(() => {});
}

async function foldersIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(folder, name));
}
