import { readFileSync } from 'node:fs';
import { makeScratch, spawnScript, startEtcd } from '@incumbent/test-support';
import { describe, expect, it } from 'vitest';
import { freshNamespace, storeUrl } from './checks/pair.ts';

const README = new URL('../../README.md', import.meta.url);
const QUICKSTART = new URL('../../examples/quickstart/index.ts', import.meta.url);

/** What the program prints, and its exit code. */
async function run(...args: readonly string[]): Promise<{ readonly output: readonly string[]; readonly status: unknown }> {
  await using script = await spawnScript(QUICKSTART, { args });
  const status = await script.exited;
  return { output: script.output.map((line) => line.replace(/broker-\d+/, 'broker')), status };
}

const expected = ['broker leads in term 1', ...['p0', 'p1', 'p2'].map((partition) => `assigned ${partition} in term 1`)];

describe("the README's program", () => {
  it('is the example, to the letter', () => {
    const [, code] = /```ts\n([^]*?)```/.exec(readFileSync(README, 'utf8')) ?? [];
    expect(code).toBe(readFileSync(QUICKSTART, 'utf8'));
  });

  it('runs on memory', async () => {
    expect(await run()).toEqual({ output: expected, status: 0 });
  });

  it('runs on sqlite', async () => {
    const folder = await makeScratch('readme');
    expect(await run(`sqlite:${folder.path}/state.db`)).toEqual({ output: expected, status: 0 });
    await folder.remove();
  });

  it('runs on etcd', async () => {
    await using etcd = await startEtcd();
    expect(await run(storeUrl([etcd.url], freshNamespace()))).toEqual({ output: expected, status: 0 });
  });
});
