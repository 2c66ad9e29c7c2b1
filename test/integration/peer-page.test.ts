import { readFileSync } from 'node:fs';
import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort, makeScratch, type Scratch, type ScriptProcess, spawnScript, until } from '@incumbent/test-support';
import { afterEach, beforeEach, expect, it } from 'vitest';

const PAGE = new URL('../../packages/peer/README.md', import.meta.url);

let folder: Scratch;

beforeEach(async () => {
  folder = await makeScratch('peer-page');
  await symlink(fileURLToPath(new URL('node_modules', import.meta.url)), join(folder.path, 'node_modules'));
});
afterEach(async () => folder.remove());

/** Saves the program of the page, with ports that are free. */
async function save(): Promise<void> {
  const [, program = ''] = /`peer\.mjs`[^]*?```js\n([^]*?)```/.exec(readFileSync(PAGE, 'utf8')) ?? [];
  let there = program;
  for (const port of [7401, 7402, 7403]) there = there.replace(`:${port}'`, `:${await freePort()}'`);
  await writeFile(join(folder.path, 'peer.mjs'), there);
}

function start(memberId: string): Promise<ScriptProcess> {
  const env = { CLUSTER_SECRET: 'a secret that all members share' };
  return spawnScript(join(folder.path, 'peer.mjs'), { args: [memberId], cwd: folder.path, env });
}

function untilOneLeads(members: readonly ScriptProcess[]): Promise<ScriptProcess> {
  const leads = ({ output }: ScriptProcess): boolean => output.some((line) => /^[abc] leads in term \d+$/.test(line));
  return until(() => members.find(leads), { what: 'a leader', withinMs: 45_000 });
}

it('one of the three processes leads, and another one after it', async () => {
  await save();
  await using a = await start('a');
  await using b = await start('b');
  await using c = await start('c');
  const first = await untilOneLeads([a, b, c]);
  first.sigterm();
  expect(await first.exited).toBe(0);
  const others = [a, b, c].filter((member) => member !== first);
  await untilOneLeads(others);
  for (const member of others) member.sigterm();
  for (const member of others) expect(await member.exited).toBe(0);
});
