import { readdir } from 'node:fs/promises';

import { describe, expect, test } from 'vitest';

import { makeScratch, requireStore, spawnScript, until, type ScriptProcess } from '../src/index.ts';
import { run } from '../src/run.ts';
import { gone } from './gone.ts';

const OWNER = new URL('./scripts/owner.ts', import.meta.url);

describe.runIf(await requireStore({ store: 'etcd', own: true }))('what a test process has started', () => {
  test.for([
    ['is killed', [], kill],
    ['is killed while they are paused', ['--paused'], kill],
    ['is told to end together with its group', [], terminateGroup],
    ['exits and leaves them running', ['--exit'], exit],
  ] as const)('ends, data and all, when that process %s', async ([, args, end]) => {
    const tmp = await makeScratch('orphans');
    await using owner = await spawnScript(OWNER, { args, env: { TMPDIR: tmp.path } });
    const { fields } = await owner.waitFor('owns', { withinMs: 30_000 });
    await end(owner, tmp.path);
    await owner.exited;
    await gone(String(fields['url']));
    await until(() => endedFully(Number(fields['ticker'])), { what: 'the end of the script' });
    await until(async () => (await readdir(tmp.path)).length === 0, { what: 'an empty folder' });
    await tmp.remove();
  });
});

async function kill(owner: ScriptProcess, folder: string): Promise<void> {
  expect(await readdir(folder)).not.toEqual([]);
  owner.sigkill();
}

async function terminateGroup(owner: ScriptProcess): Promise<void> {
  const group = Number(await run('ps', ['-o', 'pgid=', '-p', String(owner.pid)]));
  process.kill(-group, 'SIGTERM');
}

async function exit(owner: ScriptProcess): Promise<void> {
  await owner.exited;
}

function endedFully(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch {
    return true;
  }
}
