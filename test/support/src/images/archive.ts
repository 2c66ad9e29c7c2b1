import { spawn } from 'node:child_process';
import { chmod, lstat, mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { dirname, join, relative } from 'node:path';
import { PassThrough, type Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';

import { run } from '../run.ts';
import { unpackedPackages } from '../servers/packages.ts';
import { BASE, type ImageRecipe } from './recipe.ts';

const FOLDERS = ['etc', 'proc', 'root', 'run', 'sys', 'tmp', 'var/tmp'] as const;
const UNREAD = ['usr/share/doc', 'usr/share/locale', 'usr/share/man', 'usr/share/lintian', 'usr/share/bash-completion'] as const;

/**
 * The folders of programs and libraries. Older releases have them at the root, newer ones below
 * `usr` with links at the root.
 */
const MERGED = ['bin', 'lib', 'lib64', 'sbin'] as const;

/**
 * All files of an image as a tar archive. `folder` must be empty. It receives the files that are in
 * no package.
 */
export async function archiveOf(recipe: ImageRecipe, folder: string): Promise<Readable> {
  const root = await unpackedPackages({ names: [...recipe.packages, ...BASE], release: recipe.release });
  await addMissing(recipe, root, folder);
  const unread = UNREAD.map((path) => `--exclude=./${path}`);
  const owner = ['--owner=0', '--group=0', '--numeric-owner'];
  return output('tar', ['-c', ...owner, ...unread, '-C', root, '.', '-C', folder, '--no-recursion', ...(await newIn(folder, root))]);
}

/**
 * The paths in the folder that are not in the root, because engines reject a path that occurs
 * twice.
 */
async function newIn(folder: string, root: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.map(({ parentPath, name }) => relative(folder, join(parentPath, name)));
  const isNew = await Promise.all(paths.map(async (path) => !(await isThere(join(root, path)))));
  return paths.filter((_path, index) => isNew[index]).map((path) => `./${path}`);
}

async function addMissing(
  { files = {}, links = {}, writable = [], instructions }: ImageRecipe,
  root: string,
  folder: string,
): Promise<void> {
  const working = instructions.flatMap((instruction) => /^WORKDIR (.*)$/.exec(instruction)?.[1] ?? []);
  const shared = ['tmp', 'var/tmp', ...writable];
  for (const path of [...FOLDERS, ...working, ...shared]) await mkdir(join(folder, path), { recursive: true });
  await Promise.all(shared.map((path) => chmod(join(folder, path), 0o1777)));
  await addMergedFolders(root, folder);
  await addTools(root, folder);
  for (const [path, content] of Object.entries(files)) await addScript(join(folder, path), content);
  for (const [path, target] of Object.entries(links)) await addLink(join(folder, path), target);
}

async function addMergedFolders(root: string, folder: string): Promise<void> {
  for (const name of MERGED) {
    const isBelow = (await isThere(join(root, 'usr', name))) && !(await isThere(join(root, name)));
    if (isBelow) await symlink(join('usr', name), join(folder, name));
  }
}

/** The tools that busybox provides, under their names. */
async function addTools(root: string, folder: string): Promise<void> {
  const place = (await isThere(join(root, 'bin', 'busybox'))) ? 'bin' : join('usr', 'bin');
  const tools = (await run(join(root, place, 'busybox'), ['--list'])).split('\n').filter((name) => name !== '' && name !== 'busybox');
  for (const name of tools) {
    if (!(await isThere(join(root, place, name)))) await addLink(join(folder, place, name), 'busybox');
  }
}

async function addScript(path: string, content: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, content);
  await chmod(path, 0o755);
}

async function addLink(path: string, target: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await symlink(target, path);
}

function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

/** The output of a command. The stream fails if the command does. */
function output(command: string, args: readonly string[]): Readable {
  const child = spawn(command, [...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const out = new PassThrough();
  const ended = once(child, 'close');
  const complaints = text(child.stderr);
  const finish = async (): Promise<void> => {
    await pipeline(child.stdout, out, { end: false });
    const [status] = await ended;
    if (status !== 0) throw new Error(`${command}: ${await complaints}`);
    out.end();
  };
  finish().catch((error: unknown) => out.destroy(error instanceof Error ? error : new Error(String(error))));
  return out;
}
