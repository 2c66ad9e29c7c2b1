import { setTimeout as sleep } from 'node:timers/promises';
import { spawnScript, startEtcd, type EtcdServer, type ScriptProcess } from '@incumbent/test-support';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freshNamespace, storeUrl } from './checks/pair.ts';

const SCRIPT = new URL('./lifetimes.ts', import.meta.url);
const EXITS_WITHIN_MS = 15_000;

let etcd: EtcdServer;
beforeAll(async () => {
  etcd = await startEtcd();
});
afterAll(async () => etcd.stop());

async function run(what: string, url: string = storeUrl([etcd.url], freshNamespace())): Promise<ScriptProcess> {
  return spawnScript(SCRIPT, { args: [what, url] });
}

async function exitStatus(script: ScriptProcess): Promise<unknown> {
  return Promise.race([script.exited, sleep(EXITS_WITHIN_MS, 'it did not exit', { ref: false })]);
}

describe('processes', () => {
  it.each([
    'closes all',
    'closes the member only',
    'leaves the store open and idle',
    'leaves an idle member',
    'leaves an idle observer',
    'leaves an opened group',
  ])('one that %s exits by itself', async (what) => {
    await using script = await run(what);
    expect(await exitStatus(script)).toBe(0);
    expect(script.output).toEqual([]);
  });

  it.each(['has a pending lead', 'holds a leadership', 'has a pending campaign', 'reads views'])('one that %s stays', async (what) => {
    const url = storeUrl([etcd.url], freshNamespace());
    await using other = await run('holds a leadership', url);
    await other.waitFor('there', { withinMs: EXITS_WITHIN_MS });
    await using script = what === 'holds a leadership' ? other : await run(what, url);
    await script.waitFor('there', { withinMs: EXITS_WITHIN_MS });
    await sleep(3_000);
    expect(script.running).toBe(true);
  });

  it('one whose store dies under its lead neither crashes nor ends, and leads again when the store is back', async () => {
    await using own = await startEtcd();
    await using script = await run('has a pending lead', storeUrl([own.url], freshNamespace()));
    await script.waitFor('leads', { withinMs: EXITS_WITHIN_MS });
    await own.kill();
    await script.waitFor('lost', { withinMs: EXITS_WITHIN_MS });
    expect(script.running).toBe(true);
    const from = script.events.length;
    await own.restart();
    await script.waitFor('leads', { withinMs: 2 * EXITS_WITHIN_MS, from });
    expect(script.output).toEqual([]);
  });
});
