import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '@incumbent/test-support';
import { expect, it } from 'vitest';

it("the README's program runs, with real clocks and real files, and leaves nothing running", async () => {
  const home = join(import.meta.dirname, '..');
  const [, code = ''] = /```ts\n([^]*?)```/.exec(readFileSync(join(home, 'README.md'), 'utf8')) ?? [];
  const folder = mkdtempSync(join(tmpdir(), 'incumbent-peer-readme-'));
  const inReadme = [':7401', ':7402', ':7403'];
  expect(code.match(/:\d+/g)).toEqual(inReadme);
  const ports = await Promise.all(inReadme.map(() => freePort()));
  // The ports are replaced in one pass, because a free port may contain a port of the README as
  // text.
  const moved = code.replaceAll(/:\d+/g, (port) => `:${ports[inReadme.indexOf(port)]}`).replace('./votes-of-', `${folder}/votes-of-`);
  expect(moved).not.toContain('./votes-of-');
  const options = ['--conditions=@incumbent/source', '--input-type=module-typescript', '--eval', moved];
  await promisify(execFile)(process.execPath, options, { cwd: home, env: { ...process.env, NODE_OPTIONS: '' } });
  expect(readdirSync(folder).toSorted()).toEqual(['votes-of-a', 'votes-of-b', 'votes-of-c']);
  rmSync(folder, { recursive: true });
});

it("the README's program for an open membership runs too", async () => {
  const home = join(import.meta.dirname, '..');
  const [, code = ''] = [...readFileSync(join(home, 'README.md'), 'utf8').matchAll(/```ts\n([^]*?)```/g)].map(([, block]) => block);
  // The members also use the next two ports.
  const base = await freePort();
  expect(code).toContain('emergent({');
  const there = code.replaceAll(/742[12]/g, (port) => String(base + Number(port) - 7421));
  const options = ['--conditions=@incumbent/source', '--input-type=module-typescript', '--eval', there];
  await promisify(execFile)(process.execPath, options, { cwd: home, env: { ...process.env, NODE_OPTIONS: '' } });
});
