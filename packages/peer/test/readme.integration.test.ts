import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '@incumbent/test-support';
import { expect, it } from 'vitest';

// `test/integration/peer-page.test.ts` runs the program with a fixed list of members.
it("the README's program for an open membership runs, and leaves nothing running", async () => {
  const home = join(import.meta.dirname, '..');
  const [code = ''] = [...readFileSync(join(home, 'README.md'), 'utf8').matchAll(/```ts\n([^]*?)```/g)].map(([, block]) => block);
  // The members also use the next two ports.
  const base = await freePort();
  expect(code).toContain('emergent({');
  const there = code.replaceAll(/742[12]/g, (port) => String(base + Number(port) - 7421));
  const options = ['--conditions=@incumbent/source', '--input-type=module-typescript', '--eval', there];
  await promisify(execFile)(process.execPath, options, { cwd: home, env: { ...process.env, NODE_OPTIONS: '' } });
});
