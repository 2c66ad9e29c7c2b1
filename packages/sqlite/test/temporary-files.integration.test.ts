/**
 * A container may have a read-only root file system and no folder for temporary files. A statement
 * that needed a temporary file there would fail, and the deletion of ended leases is a part of
 * every claim.
 */

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { makeScratch, spawnScript } from '@incumbent/test-support';
import { expect, it } from 'vitest';

const SCRIPT = new URL('scripts/large-calls.ts', import.meta.url);

it('a store creates no temporary file, however much a call changes or reads', async () => {
  const scratch = await makeScratch('temporary-files');
  const folder = join(scratch.path, 'temporary');
  mkdirSync(folder);
  await using script = await spawnScript(SCRIPT, { args: [join(scratch.path, 'state.db')], env: { SQLITE_TMPDIR: folder } });
  expect(await script.exited).toBe(0);
  expect(script.events.map(({ fields }) => fields)).toEqual([
    // Shows that the script would notice a temporary file.
    { step: 'control', temporary: true },
    { step: 'fill', temporary: false },
    { step: 'replace', temporary: false },
    { step: 'list', temporary: false },
    { step: 'listFirst', temporary: false },
    { step: 'listLast', temporary: false },
    { step: 'swap', temporary: false },
    { step: 'revoke', temporary: false },
  ]);
  await scratch.remove();
});
