import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  makeScratch,
  requireStore,
  spawnScript,
  startProxy,
  uniqueNamespace,
  type Proxy,
  type ScriptProcess,
} from '@incumbent/test-support';
import { expect, it } from 'vitest';
import { randomOf } from '@incumbent/test-support/random';
import { consulHost, etcdHost, postgresHost, redisHost, zookeeperHost } from '../../integration/checks/hosts.ts';
import { storeUrl } from '../../integration/checks/pair.ts';

const FOR_MS = 8_000;
const WAIT_MS = 60_000;
const EXITS_WITHIN_MS = 15_000;

/** Makes calls and reports their results. The link fails now and then meanwhile. */
async function calls(url: string, proxy: Proxy | undefined, seed: number): Promise<ScriptProcess> {
  const script = await spawnScript(new URL('../calls/caller.ts', import.meta.url), { args: [url, String(FOR_MS), String(seed)] });
  await script.waitFor('ready', { withinMs: WAIT_MS });
  const random = randomOf(seed);
  for (const until = performance.now() + FOR_MS; proxy !== undefined && performance.now() < until;) {
    await sleep(200 + 600 * random());
    [() => proxy.reset(), () => proxy.blackhole(), () => proxy.refuse()][Math.floor(3 * random())]?.();
    await sleep(200 * random());
    await proxy.heal();
  }
  return script;
}

async function check(script: ScriptProcess): Promise<void> {
  const { fields } = await script.waitFor('done', { withinMs: WAIT_MS });
  expect(fields['unsettled']).toEqual([]);
  expect(await Promise.race([script.exited, sleep(EXITS_WITHIN_MS, 'it is still there')])).toBe(0);
  expect(script.events.filter(({ event }) => event === 'unhandled' || event === 'odd')).toEqual([]);
  // Otherwise nothing was tested.
  expect(fields['outcomes']).toMatchObject({ done: expect.any(Number), closed: expect.any(Number), 'given up': expect.any(Number) });
}

it.for([etcdHost, zookeeperHost, consulHost, postgresHost, redisHost])(
  'calls in a hurry on $store all settle, and none fails unheard, in a process that stands still on a link that fails',
  { timeout: 180_000 },
  async ({ store, start }, { skip }) => {
    if (!(await requireStore({ store, own: true }))) skip();
    await using server = await start();
    await using proxy = await startProxy(server.url);
    await using script = await calls(storeUrl([proxy.url], uniqueNamespace(), store), proxy, 1);
    await check(script);
  },
);

it('calls in a hurry on sqlite all settle, and none fails unheard, in a process that stands still', { timeout: 180_000 }, async () => {
  const scratch = await makeScratch('calls');
  await using script = await calls(`sqlite:${join(scratch.path, 'state.db')}`, undefined, 1);
  await check(script);
});
