import { fileURLToPath } from 'node:url';
import {
  makeScratch,
  requireStore,
  run,
  type ScriptProcess,
  sharedConsul,
  sharedEtcd,
  sharedPostgres,
  sharedRedis,
  sharedZookeeper,
  spawnScript,
  uniqueNamespace,
  until,
} from '@incumbent/test-support';
import { beforeAll, describe, expect, it } from 'vitest';
import { storeUrl } from '../integration/checks/pair.ts';

const WAIT_MS = 60_000;
const ROOT = new URL('../../', import.meta.url);
const ELECTION = new URL('election.ts', import.meta.url);

type Runtime = readonly [program: string, ...options: readonly string[]];

/** The programs themselves: the command of the package `deno` passes no signals on. */
const runtimes: Readonly<Record<string, Runtime>> = {
  Bun: [program('bun/bin/bun.exe'), 'run'],
  Deno: [program('deno/deno'), 'run', '--allow-all'],
};

const servers = {
  etcd: sharedEtcd,
  zookeeper: sharedZookeeper,
  consul: sharedConsul,
  postgres: sharedPostgres,
  redis: sharedRedis,
} as const;
const networked = [
  { store: 'etcd', isThere: await requireStore({ store: 'etcd' }) },
  { store: 'zookeeper', isThere: await requireStore({ store: 'zookeeper' }) },
  { store: 'consul', isThere: await requireStore({ store: 'consul' }) },
  { store: 'postgres', isThere: await requireStore({ store: 'postgres' }) },
  { store: 'redis', isThere: await requireStore({ store: 'redis' }) },
] as const;

function program(path: string): string {
  return fileURLToPath(new URL(`node_modules/${path}`, import.meta.url));
}

/** Waits until the member leads. Returns its term. */
async function term(script: ScriptProcess): Promise<bigint> {
  const leads = /^. leads in term (\d+), swapped: true$/;
  const find = (): string | undefined => script.output.map((line) => leads.exec(line)?.[1]).find((found) => found !== undefined);
  return BigInt(await until(find, { what: 'a leader', withinMs: WAIT_MS }));
}

async function stops(script: ScriptProcess): Promise<void> {
  script.sigterm();
  expect(await script.exited, script.output.join('\n')).toBe(0);
  expect(script.output).toContain('closed');
}

/** One leads, the other one waits; the leader stops, and the other one leads. */
async function electTwice(runtime: Runtime, url: string): Promise<void> {
  await using first = await spawnScript(ELECTION, { runtime, args: [url, 'a'] });
  const termOfFirst = await term(first);
  await using second = await spawnScript(ELECTION, { runtime, args: [url, 'b'] });
  await stops(first);
  expect(await term(second)).toBeGreaterThan(termOfFirst);
  await stops(second);
}

// The packages as they are published: Bun and Deno load no sources.
beforeAll(async () => {
  await run(process.execPath, [fileURLToPath(new URL('scripts/bundle.ts', ROOT))], { timeoutMs: WAIT_MS });
});

describe.each(Object.entries(runtimes))('an election on %s', (_name, runtime) => {
  it('on memory', async () => {
    await using script = await spawnScript(ELECTION, { runtime });
    await term(script);
    await stops(script);
  });

  it('on sqlite', async () => {
    const scratch = await makeScratch('platforms');
    await electTwice(runtime, `sqlite:${scratch.path}/state.db`);
    await scratch.remove();
  });

  for (const { store, isThere } of networked) {
    it.runIf(isThere)(`on ${store}`, async () => {
      const { endpoints } = await servers[store]();
      await electTwice(runtime, storeUrl(endpoints, uniqueNamespace('platforms'), store));
    });
  }
});
