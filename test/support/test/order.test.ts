import { chmod, mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';

import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';

import { composeCommand, makeScratch, spawnScript, startEtcd, type Scratch } from '../src/index.ts';

const SOURCER = new URL('./scripts/sourcer.ts', import.meta.url);
const SHARER = new URL('./scripts/sharer.ts', import.meta.url);
const WAIT = { withinMs: 60_000 };

const STORES = [
  { store: 'consul', programs: ['consul'], image: 'INCUMBENT_CONSUL_IMAGE', onPath: 'consul on the PATH' },
  { store: 'etcd', programs: ['etcd', 'etcdctl'], image: 'INCUMBENT_ETCD_IMAGE', onPath: 'etcd on the PATH' },
  { store: 'redis', programs: ['redis-server', 'redis-cli'], image: 'INCUMBENT_REDIS_IMAGE', onPath: 'redis-server on the PATH' },
  { store: 'zookeeper', programs: ['zkServer.sh', 'java'], image: 'INCUMBENT_ZOOKEEPER_IMAGE', onPath: 'zkServer.sh on the PATH' },
] as const;

/** What answers as an engine does, and nothing more. */
let engine: Server;
let scratch: Scratch;
let DOCKER_HOST = '';

beforeAll(async () => {
  scratch = await makeScratch('order');
  const socket = join(scratch.path, 'engine.sock');
  engine = createServer((_request, response) => response.end('OK'));
  await new Promise<void>((resolve) => engine.listen(socket, resolve));
  DOCKER_HOST = `unix://${socket}`;
  await mkdir(join(scratch.path, 'bin'));
  await mkdir(join(scratch.path, 'lib'));
  await writeFile(join(scratch.path, 'lib', 'zookeeper-3.9.4.jar'), '');
  for (const program of STORES.flatMap(({ programs }) => programs)) {
    await script(join(scratch.path, 'bin'), program, '');
  }
});
afterAll(async () => {
  engine.close();
  await scratch.remove();
});

async function script(folder: string, name: string, command: string): Promise<void> {
  await writeFile(join(folder, name), `#!/bin/sh\n${command}\n`);
  await chmod(join(folder, name), 0o755);
}

/** With every program on the PATH, and an image named. */
async function sourceOf(store: string, env: Readonly<Record<string, string>>): Promise<unknown> {
  const PATH = `${join(scratch.path, 'bin')}:${process.env['PATH'] ?? ''}`;
  await using sourcer = await spawnScript(SOURCER, { args: [store], env: { PATH, ...env } });
  return (await sourcer.waitFor('source', WAIT)).fields['what'];
}

describe.each(STORES)('servers of $store', ({ store, image, onPath }) => {
  test('come from a container engine that answers, also where their programs are on the PATH', async () => {
    await expect(sourceOf(store, { DOCKER_HOST, [image]: `mine/${store}:1` })).resolves.toBe(`containers of mine/${store}:1`);
  });

  test('come from the PATH where no engine answers', async () => {
    await expect(sourceOf(store, { DOCKER_HOST: 'unix:///nowhere.sock', [image]: `mine/${store}:1` })).resolves.toBe(onPath);
  });
});

test('the shared server is the one at the address from the environment, also where an engine answers', async () => {
  await using etcd = await startEtcd();
  const env = { DOCKER_HOST, INCUMBENT_ETCD_IMAGE: 'mine/etcd:1', INCUMBENT_TEST_ETCD: etcd.url };
  await using sharer = await spawnScript(SHARER, { args: ['etcd', 'order'], env });
  expect((await sharer.waitFor('shared', WAIT)).fields['url']).toBe(etcd.url);
});

describe('docker compose', () => {
  afterEach(() => vi.unstubAllEnvs());

  /** Where `docker` has no plugin, and `docker-compose` is of this version. */
  async function commandWith(version: string): Promise<readonly string[]> {
    const folder = await mkdtemp(join(scratch.path, 'compose-'));
    await script(folder, 'docker', 'exit 1');
    await script(folder, 'docker-compose', `echo ${version}`);
    vi.stubEnv('PATH', folder);
    vi.stubEnv('INCUMBENT_CACHE', folder);
    return composeCommand();
  }

  test.each(['2.20.0', '2.26.1-4', 'v5.0.2'])('is docker-compose %s', async (version) => {
    await expect(commandWith(version)).resolves.toEqual(['docker-compose']);
  });

  test.each(['1.29.2', '2.19.1', 'nothing'])('is not docker-compose %s; packages come last', async (version) => {
    await expect(commandWith(version)).rejects.toThrow(
      /^no docker compose to be had: no docker with .*; no docker-compose .* on the PATH; Debian's packages of trixie: .*apt-get/,
    );
  });
});
