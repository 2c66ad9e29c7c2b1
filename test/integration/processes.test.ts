import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { spawnScript, startEtcd, until, type EtcdServer, type ScriptProcess } from '@incumbent/test-support';
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

  it('one that is asked to stop hands over or resigns all that it leads, once its work has stopped, and exits with 0', async () => {
    await using script = await run('leads in three elections');
    const told = (name: string): number => script.events.filter(({ event }) => event === name).length;
    await until(() => told('leads') === 3, { what: 'it leads in all three' });
    script.sigterm();
    expect(await exitStatus(script)).toBe(0);
    expect(told('stopped')).toBe(3);
    expect(script.output).toEqual([]);
  });

  it('one that is asked to stop while nobody awaits its campaigns exits with 0', async () => {
    const url = storeUrl([etcd.url], freshNamespace());
    await using leader = await run('holds a leadership', url);
    await leader.waitFor('there', { withinMs: EXITS_WITHIN_MS });
    await using script = await run('waits in two elections', url);
    await script.waitFor('there', { withinMs: EXITS_WITHIN_MS });
    script.sigterm();
    expect(await exitStatus(script)).toBe(0);
    expect(script.output).toEqual([]);
  });

  it('one that is asked to stop while it closes the member by itself ends when the close has ended', async () => {
    await using script = await run('closes while its work stops');
    await script.waitFor('leads', { withinMs: EXITS_WITHIN_MS });
    script.sigusr2();
    await script.waitFor('lost', { withinMs: EXITS_WITHIN_MS });
    script.sigterm();
    expect(await exitStatus(script)).toBe(0);
    expect(script.events.map(({ event }) => event)).toEqual(['leads', 'lost', 'asked', 'stopped', 'closed']);
    expect(script.output).toEqual([]);
  });

  it('one whose work does not stop ends at a second signal, but not at one that comes together with the first', async () => {
    await using script = await run('has work that does not stop');
    await script.waitFor('leads', { withinMs: EXITS_WITHIN_MS });
    process.kill(script.pid, 'SIGINT');
    script.sigterm();
    await script.waitFor('lost', { withinMs: EXITS_WITHIN_MS });
    await sleep(1_000);
    expect(script.running).toBe(true);
    script.sigterm();
    expect(await exitStatus(script)).toBe(128 + constants.signals.SIGTERM);
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
