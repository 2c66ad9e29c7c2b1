import { mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import {
  makeScratch,
  requireEngine,
  requireFreezableDisk,
  spawnScript,
  StoreUnavailable,
  useEngine,
  type Scratch,
  type ScriptProcess,
} from '../src/index.ts';
import { cached } from '../src/servers/cache.ts';
import { findEngine } from '../src/engine/find.ts';
import { serverSource, type ServerSource } from '../src/servers/server-source.ts';
import { firstOf } from '../src/servers/source.ts';

const REQUIRER = new URL('./scripts/requirer.ts', import.meta.url);
const WAIT = { withinMs: 30_000 };

let scratch: Scratch;

beforeEach(async () => {
  scratch = await makeScratch('sources');
  vi.stubEnv('INCUMBENT_CACHE', scratch.path);
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await scratch.remove();
});

describe('the cache', () => {
  test('is filled once, and complete for everyone who asks at the same time', async () => {
    let fills = 0;
    const fill = async (folder: string): Promise<void> => {
      fills += 1;
      const mark = String(fills);
      await writeFile(join(folder, 'one'), mark);
      await writeFile(join(folder, 'two'), mark);
    };
    const folders = await Promise.all(Array.from({ length: 8 }, () => cached('things', fill)));
    expect(new Set(folders)).toEqual(new Set([join(scratch.path, 'things')]));
    const [folder = ''] = folders;
    await expect(readFile(join(folder, 'one'), 'utf8')).resolves.toBe(await readFile(join(folder, 'two'), 'utf8'));
    const before = fills;
    await cached('things', fill);
    expect(fills).toBe(before);
    await expect(readdir(join(scratch.path, 'drafts'))).resolves.toEqual([]);
  });

  test('keeps nothing of what could not be completed', async () => {
    const fill = async (folder: string): Promise<void> => {
      await writeFile(join(folder, 'one'), '');
      throw new Error('the network is gone');
    };
    await expect(cached('things', fill)).rejects.toThrow('the network is gone');
    await expect(readdir(scratch.path)).resolves.toEqual(['drafts']);
    await expect(readdir(join(scratch.path, 'drafts'))).resolves.toEqual([]);
  });
});

describe('sources', () => {
  test('are asked in order, and the first that has something serves', async () => {
    const asked: string[] = [];
    const source = (what: string, found: string | undefined) => ({
      what,
      async find() {
        asked.push(what);
        return found;
      },
    });
    await expect(firstOf('store', [source('a', undefined), source('b', 'it'), source('c', 'other')])).resolves.toBe('it');
    expect(asked).toEqual(['a', 'b']);
  });

  test('where none has anything, the error names all that was tried', async () => {
    const none = { what: 'store on the PATH', find: async () => undefined };
    const broken = { what: 'packages', find: () => Promise.reject(new Error('no mirror')) };
    const failure = firstOf('store', [none, broken]);
    await expect(failure).rejects.toThrow('no store to be had: no store on the PATH; packages: no mirror');
    await expect(failure).rejects.toBeInstanceOf(StoreUnavailable);
  });

  test('of servers are looked for again where none was found, and only there', async () => {
    vi.stubEnv('DOCKER_HOST', `unix://${scratch.path}/nobody.sock`);
    const source = { what: 'etcd', instance: () => expect.unreachable() };
    const find = vi.fn<() => Promise<ServerSource>>(async () => source).mockRejectedValueOnce(new Error('no mirror'));
    const look = () => serverSource('etcd', 'default', [{ what: 'packages', find }]);
    await expect(look()).rejects.toThrow('no mirror');
    await expect(look()).resolves.toBe(source);
    await expect(look()).resolves.toBe(source);
    expect(find).toHaveBeenCalledTimes(2);
  });

  test('looking for a container engine where none is does not wait', async () => {
    vi.stubEnv('DOCKER_HOST', `unix://${scratch.path}/nobody.sock`);
    const start = performance.now();
    await expect(findEngine()).resolves.toBeUndefined();
    expect(performance.now() - start).toBeLessThan(4_000);
  });
});

describe('a container engine that tests require', () => {
  test('and that neither answers nor may be started is told of, or a failure where it must be there', async () => {
    vi.stubEnv('DOCKER_HOST', `unix://${scratch.path}/nobody.sock`);
    vi.stubEnv('INCUMBENT_REQUIRE_STORES', '');
    using _user = vi.spyOn(process, 'getuid').mockReturnValue(1_000);
    await expect(requireEngine()).resolves.toBe(false);
    vi.stubEnv('INCUMBENT_REQUIRE_STORES', '1');
    await expect(requireEngine()).rejects.toThrow('no container engine to be had: none answers; only root can start one');
    await expect(useEngine()).rejects.toBeInstanceOf(StoreUnavailable);
  });
});

describe('a disk that can be frozen', () => {
  /** Mounts nothing, and cannot freeze: what a kernel without support for it does. */
  const programs = { 'mkfs.ext4': 'exit 0', mount: 'exit 0', umount: 'exit 0', fsfreeze: 'exit 1' };

  test('is not available on a kernel that freezes no file system', async () => {
    const folder = await mkdtemp(join(scratch.path, 'disk-'));
    for (const [name, command] of Object.entries(programs)) {
      await writeFile(join(folder, name), `#!/bin/sh\n${command}\n`, { mode: 0o755 });
    }
    vi.stubEnv('PATH', folder);
    await expect(requireFreezableDisk()).resolves.toBe(false);
  });
});

describe('a store that tests require', () => {
  /** On a machine with no engine, no etcd on the PATH, and no apt. */
  const bare = {
    ...{ PATH: '/nowhere', JAVA_HOME: '', DOCKER_HOST: 'unix:///nowhere.sock' },
    ...{ INCUMBENT_TEST_ETCD: '', INCUMBENT_TEST_ZOOKEEPER: '', INCUMBENT_REQUIRE_STORES: '' },
  };

  async function require(args: readonly string[], env: Readonly<Record<string, string>>): Promise<ScriptProcess> {
    const script = await spawnScript(REQUIRER, { args, env: { ...bare, INCUMBENT_CACHE: scratch.path, ...env } });
    await script.exited;
    return script;
  }

  test('and that cannot be had is told of on standard error, with all that was tried', async () => {
    await using script = await require([], {});
    expect((await script.waitFor('answer', WAIT)).fields).toEqual({ available: false });
    expect(script.output.join('\n')).toMatch(
      /^SKIPPED TESTS: no etcd \(default\) to be had: no container engine; no etcd on the PATH; .*apt-get/m,
    );
  });

  test('and whose jars or Java cannot be had is told of likewise', async () => {
    await using script = await require(['--zookeeper'], {});
    expect((await script.waitFor('answer', WAIT)).fields).toEqual({ available: false });
    expect(script.output.join('\n')).toMatch(
      /^SKIPPED TESTS: no zookeeper \(default\) to be had: no container engine; no zkServer.sh on the PATH; .*(apt-get|no java to be had)/m,
    );
  });

  test('and that cannot be had is a failure where stores must be there', async () => {
    await using script = await require([], { INCUMBENT_REQUIRE_STORES: '1' });
    expect((await script.waitFor('failure', WAIT)).fields['message']).toContain('no etcd (default) to be had');
  });

  test('is there where its address is given, but for tests that need their own', async () => {
    const given = { INCUMBENT_TEST_ETCD: 'http://127.0.0.1:2379' };
    await using shared = await require([], given);
    expect((await shared.waitFor('answer', WAIT)).fields).toEqual({ available: true });
    await using own = await require(['--own'], given);
    expect((await own.waitFor('answer', WAIT)).fields).toEqual({ available: false });
  });
});
