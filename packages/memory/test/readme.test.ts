import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const home = fileURLToPath(new URL('..', import.meta.url));

it('the program in the README runs to its end', async () => {
  const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8');
  const programs = [...readme.matchAll(/^```ts\n([^]*?)^```$/gm)].map(([, program]) => program ?? '');
  expect(programs).toHaveLength(1);
  for (const program of programs) {
    const node = ['--conditions=@incumbent/source', '--input-type=module-typescript', '--eval', `${program}\nconsole.log('done');`];
    expect(await promisify(execFile)(process.execPath, node, { cwd: home })).toEqual({ stdout: 'done\n', stderr: '' });
  }
});
