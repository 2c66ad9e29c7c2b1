import { mkdir, readFile, readlink, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { makeScratch } from '../src/index.ts';
import { keepLinksWithin } from '../src/servers/symlinks.ts';

test('a link to where a package would install a file leads to that file in the folder; others stay', async () => {
  const scratch = await makeScratch('links');
  const [conf, etc] = [join(scratch.path, 'usr', 'lib', 'conf'), join(scratch.path, 'etc', 'thing')];
  await Promise.all([conf, etc].map((folder) => mkdir(folder, { recursive: true })));
  await writeFile(join(etc, 'settings'), 'value');
  await symlink('/etc/thing/settings', join(conf, 'settings'));
  await symlink('/etc/thing', join(conf, 'all'));
  await symlink('/etc/nothing', join(conf, 'elsewhere'));
  await symlink('settings', join(conf, 'near'));
  await keepLinksWithin(scratch.path);
  for (const path of ['settings', 'all/settings', 'near']) expect(await readFile(join(conf, path), 'utf8')).toBe('value');
  await expect(readlink(join(conf, 'elsewhere'))).resolves.toBe('/etc/nothing');
  await scratch.remove();
});
