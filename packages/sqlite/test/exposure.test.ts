/** Who may use the file that a store makes, and what is said of one that others may use. */

import { chmodSync, statSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { exposureOf } from '../src/exposure.ts';
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

  it('in a folder where nobody may replace what another one owns is not warned of', async () => {
    await rig.open();
    chmodSync(rig.folder, 0o1777);
    expect(exposureOf(rig.file)).toEqual([]);
  });
});
