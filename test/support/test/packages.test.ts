import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { BASE } from '../src/images/recipe.ts';
import { makeScratch, requireBrowser, type Scratch } from '../src/index.ts';
import { downloadPackages } from '../src/servers/apt.ts';
import { composeImages } from '../src/servers/images.ts';
import { folderNameOf, unpackedPackages } from '../src/servers/packages.ts';

/**
 * Writes a line for each of its commands `update`, `download` and `install`. As many downloads fail
 * as `$APT_FAILS` has lines. An installation would need one more package, if the lists of the
 * cache and the installed packages of the system are given.
 */
const APT_GET = `#!/bin/sh
if [ "$2" = --print-uris ]; then
  . /etc/os-release
  echo "'http://127.0.0.1/debian/dists/$VERSION_CODENAME/InRelease' file 0"
  exit
fi
options="$*"
while [ "\${1#-}" != "$1" ]; do shift; done
[ -n "$1" ] && echo "$*" >>"$APT_LOG"
if [ "$1" = download ] && [ -s "$APT_FAILS" ]; then
  sed -i 1d "$APT_FAILS"
  exit 100
fi
if [ "$1" = install ]; then
  case "$options" in *Dir::State::lists=$INCUMBENT_CACHE/*Dir::State::status=/var/lib/dpkg/status*) ;; *) exit 100 ;; esac
  echo "Inst $4 (1.0)"
  echo "Inst needed (1.0)"
  echo "Conf $4 (1.0)"
fi
true
`;

let scratch: Scratch;
let log: string;

beforeEach(async () => {
  scratch = await makeScratch('apt');
  log = join(scratch.path, 'log');
  await writeFile(join(scratch.path, 'apt-get'), APT_GET, { mode: 0o755 });
  vi.stubEnv('PATH', `${scratch.path}:${process.env['PATH']}`);
  vi.stubEnv('INCUMBENT_CACHE', join(scratch.path, 'cache'));
  vi.stubEnv('APT_LOG', log);
  vi.stubEnv('APT_FAILS', join(scratch.path, 'fails'));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await scratch.remove();
});

async function logged(): Promise<readonly string[]> {
  return (await readFile(log, 'utf8')).trimEnd().split('\n');
}

async function commands(): Promise<readonly (string | undefined)[]> {
  return (await logged()).map((line) => line.split(' ')[0]);
}

describe.runIf(process.platform === 'linux')('packages', () => {
  async function download(name: string, release?: string): Promise<void> {
    await mkdir(join(scratch.path, name));
    await downloadPackages([name], join(scratch.path, name), release);
  }

  it('whose downloads begin at the same time share the lists of a release', async () => {
    await Promise.all([download('one'), download('two'), download('three')]);
    expect(await commands()).toEqual(['update', 'download', 'download', 'download']);
    await download('four', 'another');
    expect((await commands()).slice(4)).toEqual(['update', 'download']);
  });

  it('whose download fails twice are downloaded a third time, and no more', async () => {
    await writeFile(join(scratch.path, 'fails'), '1\n2\n');
    await download('one');
    expect(await commands()).toEqual(['update', 'download', 'download', 'download']);
    await writeFile(join(scratch.path, 'fails'), '1\n2\n3\n');
    await expect(download('two')).rejects.toThrow('no mirror of apt has two');
    expect((await commands()).slice(4)).toEqual(['download', 'download', 'download']);
  });

  it('that are needed twice at the same time are downloaded once', async () => {
    const [one, other] = await Promise.all([unpackedPackages({ names: ['one'] }), unpackedPackages({ names: ['one'] })]);
    expect(one).toBe(other);
    expect(await commands()).toEqual(['update', 'download']);
  });

  it('bring what the system lacks, by the lists of the cache', async () => {
    await unpackedPackages({ names: ['one'], dependencies: true });
    expect(await commands()).toEqual(['update', 'install', 'download']);
    expect((await logged()).at(-1)).toBe('download one needed');
    await unpackedPackages({ names: ['one'], dependencies: true });
    expect(await logged()).toHaveLength(3);
  });
});

// An installed browser would be found first.
const INSTALLED = ['/usr/bin/chromium', '/usr/bin/google-chrome'].some((path) => existsSync(path));

it.skipIf(INSTALLED)('a browser that tests require and that cannot be had is a failure where it must be there', async () => {
  await writeFile(join(scratch.path, 'apt-get'), '#!/bin/sh\nexit 100\n', { mode: 0o755 });
  vi.stubEnv('INCUMBENT_CHROMIUM', '');
  vi.stubEnv('INCUMBENT_REQUIRE_STORES', '');
  await expect(requireBrowser()).resolves.toBe(false);
  vi.stubEnv('INCUMBENT_REQUIRE_STORES', '1');
  await expect(requireBrowser()).rejects.toThrow(/^no Chromium to be had: no \/usr\/bin\/chromium; .*; packages: .*apt-get/);
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
