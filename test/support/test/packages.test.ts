import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { BASE } from '../src/images/recipe.ts';
import { makeScratch } from '../src/index.ts';
import { downloadPackages } from '../src/servers/apt.ts';
import { composeImages } from '../src/servers/images.ts';
import { folderNameOf } from '../src/servers/packages.ts';

/** Writes a line for each of its commands: `update` or `download`. */
const APT_GET = `#!/bin/sh
if [ "$2" = --print-uris ]; then
  . /etc/os-release
  echo "'http://127.0.0.1/debian/dists/$VERSION_CODENAME/InRelease' file 0"
  exit
fi
while [ "\${1#-}" != "$1" ]; do shift; done
echo "$1" >>"$APT_LOG"
`;

afterEach(() => void vi.unstubAllEnvs());

it.runIf(process.platform === 'linux')('downloads that begin at the same time share the lists of a release', async () => {
  const scratch = await makeScratch('apt');
  const log = join(scratch.path, 'log');
  await writeFile(join(scratch.path, 'apt-get'), APT_GET, { mode: 0o755 });
  vi.stubEnv('PATH', `${scratch.path}:${process.env['PATH']}`);
  vi.stubEnv('INCUMBENT_CACHE', join(scratch.path, 'cache'));
  vi.stubEnv('APT_LOG', log);
  const download = async (name: string, release?: string): Promise<void> => {
    await mkdir(join(scratch.path, name));
    await downloadPackages([name], join(scratch.path, name), release);
  };
  await Promise.all([download('one'), download('two'), download('three')]);
  expect((await readFile(log, 'utf8')).split('\n')).toEqual(['update', 'download', 'download', 'download', '']);
  await download('four', 'another');
  expect((await readFile(log, 'utf8')).split('\n').slice(4)).toEqual(['update', 'download', '']);
  await scratch.remove();
});

it('the folder of the packages of an image has a name that file systems accept', () => {
  for (const { recipe } of Object.values(composeImages)) {
    expect(folderNameOf([...recipe.packages, ...BASE]).length).toBeLessThan(256);
  }
});

it('the folders of different packages have different names', () => {
  const names = Array.from({ length: 50 }, (_, index) => `package-${index}`);
  expect(folderNameOf(['a', 'b'])).toBe('a+b');
  expect(folderNameOf(names)).not.toBe(folderNameOf(names.toReversed()));
});
