/** Who may use the file that a store makes, and what is said of one that others may use. */

import { chmodSync, lstatSync, mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { exposureOf } from '../src/host/file-permissions.ts';
import { CALL, Rig } from './rig.ts';

let rig: Rig;
let umask: number;
beforeEach(() => {
  rig = new Rig();
  umask = process.umask(0o022);
});
afterEach(() => {
  process.umask(umask);
  rig[Symbol.dispose]();
});

const modesOf = (files: readonly string[]): readonly string[] => files.map((file) => (statSync(file).mode & 0o777).toString(8));

describe.skipIf(process.platform === 'win32')('a file', () => {
  it.each([0o000, 0o022, 0o077, 0o777])(
    'that a store makes under the umask %i is for its owner alone, as its log and index are',
    async (mask) => {
      process.umask(mask);
      const store = await rig.open();
      await store.read('a', CALL);
      expect(modesOf(rig.files)).toEqual(['600', '600', '600']);
      expect(exposureOf(rig.file)).toEqual([]);
    },
  );

  it('that is there keeps its mode', async () => {
    rig.raw().exec('VACUUM');
    chmodSync(rig.file, 0o660);
    await rig.open();
    expect(modesOf([rig.file])).toEqual(['660']);
  });

  it('that others may use, or replace, is warned of, once', async () => {
    const warnings: unknown[] = [];
    const listen = (warning: Error & { code?: string }): void => void warnings.push([warning.code, warning.message]);
    process.on('warning', listen);
    await (await rig.open()).close();
    chmodSync(rig.file, 0o640);
    chmodSync(rig.folder, 0o777);
    const expected = [/mode 640.*chmod 600/, /folder of .* mode 777.*replace/].map((text): unknown => expect.stringMatching(text));
    expect(exposureOf(rig.file)).toEqual(expected);
    for (let time = 0; time < 3; time += 1) {
      const store = await rig.open();
      expect(await store.inspect()).toMatchObject({ warnings: expected });
      await store.close();
    }
    await new Promise((resolve) => setImmediate(resolve));
    process.off('warning', listen);
    expect(warnings.filter((warning) => String(warning).includes(rig.folder))).toEqual(
      expected.map((text) => ['INCUMBENT_FILE_EXPOSED', text]),
    );
  });

  it('in a folder such as /tmp is warned of: others may put a log or a journal beside it', async () => {
    await rig.open();
    chmodSync(rig.folder, 0o1777);
    expect(exposureOf(rig.file)).toEqual([expect.stringMatching(/folder of .* mode 1777.*-wal or a -journal of their own/)]);
  });

  it.each(['', '-wal', '-shm', '-journal'])('whose %j belongs to another user is warned of', async (end) => {
    await rig.open();
    if (end === '-journal') writeFileSync(rig.file + end, '');
    const { uid } = statSync(rig.file + end);
    const warning = expect.stringContaining(`${rig.file}${end} belongs to user ${uid}, who can change all elections in it`);
    expect(exposureOf(rig.file, rig.file, [uid + 1])).toContainEqual(warning);
  });

  it('in a folder of another user is warned of', () => {
    const { uid } = statSync(rig.folder);
    const warning = expect.stringContaining(`the folder of ${rig.file} belongs to user ${uid}`);
    expect(exposureOf(rig.file, rig.file, [uid + 1])).toEqual([warning]);
  });

  it('that a link leads to is warned of by the link and its folder, too', async () => {
    const folder = join(rig.folder, 'open to all');
    mkdirSync(folder);
    chmodSync(folder, 0o777);
    const link = join(folder, 'link.db');
    symlinkSync(rig.file, link);
    const store = await rig.open({ file: link });
    const replaced = expect.stringMatching(/folder of .*link\.db has the mode 777.*remove or replace/);
    expect(await store.inspect()).toMatchObject({ warnings: [replaced] });
    const { uid } = lstatSync(link);
    expect(exposureOf(rig.file, link, [uid + 1])).toContainEqual(expect.stringContaining(`${link} belongs to user ${uid}`));
  });

  it('behind a folder that is a link is not warned of', async () => {
    const link = join(rig.folder, 'folder');
    symlinkSync(rig.folder, link);
    const file = join(link, 'state.db');
    await rig.open({ file });
    expect(exposureOf(rig.file, file)).toEqual([]);
  });
});
