import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test, vi } from 'vitest';

import { fourLetterWord, requireStore, sharedEtcd, spawnScript, startEtcd, uniqueNamespace, type ScriptEvent } from '../src/index.ts';
import { Broker } from '../src/servers/broker/broker.ts';
import { BROKER } from '../src/servers/broker/messages.ts';
import { ask } from '../src/servers/http.ts';
import { stores } from '../src/servers/stores.ts';
import { gone } from './gone.ts';

const SHARER = new URL('./scripts/sharer.ts', import.meta.url);

const UNSET = { [BROKER]: '', INCUMBENT_TEST_CONSUL: '', INCUMBENT_TEST_ETCD: '', INCUMBENT_TEST_ZOOKEEPER: '' };

async function share(env: Readonly<Record<string, string>>, key: string, store = 'etcd'): Promise<ScriptEvent> {
  await using script = await spawnScript(SHARER, { args: [store, key], env: { ...UNSET, ...env } });
  return await script.waitFor('shared', { withinMs: 60_000 });
}

describe.runIf(await requireStore({ store: 'etcd', own: true }))('the shared etcd', () => {
  test('is one for all processes of a run, which its setup ends', async () => {
    const broker = await Broker.start();
    const [one, other] = await Promise.all([share({ [BROKER]: broker.url }, 'a'), share({ [BROKER]: broker.url }, 'b')]);
    expect(one.fields['url']).toBe(other.fields['url']);
    expect([one.fields['written'], other.fields['written']]).toEqual(['OK\n', 'OK\n']);
    expect(one.fields['mistake']).toMatch(/unknown command/);
    const url = String(one.fields['url']);
    await expect(ask(`${url}/version`)).resolves.toContain(String(one.fields['version']));
    await broker.close();
    await expect(gone(url)).resolves.toBe(true);
  });

  test('is, in a run of these tests, that of the run', async () => {
    const url = process.env[BROKER];
    if (url === undefined) throw new Error(`the run has no setup: ${BROKER} is not set`);
    const here = await sharedEtcd();
    const there = await share({ [BROKER]: url }, uniqueNamespace());
    expect(there.fields['url']).toBe(here.url);
    await expect(sharedEtcd()).resolves.toBe(here);
  });

  test('is the one at the address from the environment, where there is one', async () => {
    await using etcd = await startEtcd();
    const { fields } = await share({ INCUMBENT_TEST_ETCD: etcd.url }, 'key');
    expect([fields['url'], fields['version']]).toEqual([etcd.url, etcd.version]);
    expect(fields['mistake']).toMatch(/unknown command/);
    await expect(etcd.ctl(['get', '--print-value-only', 'key'])).resolves.toBe('value\n');
  });

  test('is one of the process’s own where nobody has set anything up, and ends with it', async () => {
    const { fields } = await share({}, 'key');
    expect(fields['written']).toBe('OK\n');
    await expect(gone(String(fields['url']))).resolves.toBe(true);
  });
});

describe.runIf(await requireStore({ store: 'zookeeper', own: true }))('the shared ZooKeeper', () => {
  test('is one for all processes of a run, which its setup ends; its address in the environment is as good', async () => {
    const broker = await Broker.start();
    const one = await share({ [BROKER]: broker.url }, 'a', 'zookeeper');
    const url = String(one.fields['url']);
    const other = await share({ [BROKER]: broker.url }, 'b', 'zookeeper');
    expect(other.fields['url']).toBe(url);
    const given = await share({ INCUMBENT_TEST_ZOOKEEPER: url }, 'c', 'zookeeper');
    expect([given.fields['url'], given.fields['version']]).toEqual([url, one.fields['version']]);
    for (const { fields } of [one, other, given]) expect(fields['mistake']).toMatch(/Node does not exist: \/no-such-key/);
    await expect(fourLetterWord({ url }, 'srvr')).resolves.toContain('Node count: 8');
    await broker.close();
    await expect(fourLetterWord({ url }, 'ruok')).rejects.toThrow(/ECONNREFUSED/);
  });
});

describe.runIf(await requireStore({ store: 'consul', own: true }))('the shared Consul', () => {
  test('is one for all processes of a run, which its setup ends; its address in the environment is as good', async () => {
    const broker = await Broker.start();
    const one = await share({ [BROKER]: broker.url }, 'a', 'consul');
    const url = String(one.fields['url']);
    const given = await share({ INCUMBENT_TEST_CONSUL: url }, 'b', 'consul');
    expect([given.fields['url'], given.fields['version']]).toEqual([url, one.fields['version']]);
    for (const { fields } of [one, given]) expect(fields['mistake']).toMatch(/No key exists at: no-such-key/);
    await expect(ask(`${url}/v1/kv/?keys`)).resolves.toBe('["a","b"]');
    await broker.close();
    await expect(gone(url)).resolves.toBe(true);
  });
});

test('a shared server that did not start is started again for the next who asks', async () => {
  using start = vi.spyOn(stores.redis, 'start').mockRejectedValue(new Error('planted'));
  const broker = await Broker.start();
  try {
    const request = () => ask(broker.url, { method: 'POST', body: JSON.stringify({ store: 'redis', version: 'default' }) });
    await expect(request()).rejects.toThrow('planted');
    await expect(request()).rejects.toThrow('planted');
    expect(start).toHaveBeenCalledTimes(2);
  } finally {
    await broker.close();
  }
});

describe('a namespace for a test', () => {
  test('is nobody else’s', () => {
    const names = Array.from({ length: 100 }, () => uniqueNamespace('swap'));
    expect(new Set(names).size).toBe(100);
    expect(names.every((name) => /^swap-[0-9a-f]{12}$/.test(name))).toBe(true);
  });
});

const SERVERS = join(import.meta.dirname, '../src/servers');
const CASES = 30;

/** A file of many cases on one server, as the contract's are. The server logs a line and ends. */
const DEAF = `
  import { afterAll, beforeAll, describe, it } from 'vitest';
  import { LocalInstance } from '${SERVERS}/local.ts';
  import { ServerProcess } from '${SERVERS}/process.ts';

  describe('a store', () => {
    let server;
    beforeAll(async () => {
      const instance = new LocalInstance(import.meta.dirname, { program: 'deaf.sh', args: [], folder: import.meta.dirname, name: 'deaf' });
      const kind = { name: 'deaf', serves: async () => false };
      const started = new ServerProcess({ url: 'http://127.0.0.1:1', instance, kind, auth: undefined, tls: undefined });
      await started.start();
      server = started;
    });
    afterAll(() => server.stop());
    for (let i = 0; i < ${CASES}; i += 1) it.concurrent('case ' + i, async () => { throw new Error('a case ran without its server'); });
  });`;

test('a server that does not serve fails once, with its log, however many cases wait for it', () => {
  const cache = join(process.cwd(), 'node_modules/.cache');
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, 'deaf-'));
  try {
    writeFileSync(join(folder, 'deaf.sh'), '#!/bin/sh\necho "planted: no space left on device"\nexit 1\n', { mode: 0o755 });
    writeFileSync(join(folder, 'deaf.test.ts'), DEAF);
    const config = `import { CountReporter } from '@incumbent/test-support/reporter';
      export default { test: { include: ['*.test.ts'], reporters: ['default', new CountReporter()] } };`;
    writeFileSync(join(folder, 'vitest.config.ts'), config);
    const vitest = join(process.cwd(), 'node_modules/.bin/vitest');
    const { stdout, stderr } = spawnSync(vitest, ['run'], { cwd: folder, encoding: 'utf8', env: { ...process.env, NO_COLOR: '1' } });
    expect(stdout.trimEnd().split('\n').at(-1)).toBe(`0 passed, 1 failed, ${CASES} skipped`);
    expect(stderr.match(/planted: no space left on device/g)).toHaveLength(1);
    expect(stderr).toContain('deaf at http://127.0.0.1:1 does not serve; its log ends with:');
    expect(stdout + stderr).not.toContain('a case ran without its server');
  } finally {
    rmSync(folder, { recursive: true });
  }
});
