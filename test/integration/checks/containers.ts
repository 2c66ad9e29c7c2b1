/** Servers in containers, started by `@incumbent/test-support` through a container engine. */

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { outcomeOf, startRedis, useEngine, type ContainerState, type Engine } from '@incumbent/test-support';
import { now } from '../history.ts';
import type { Check, Figures } from './check.ts';
import { consulHost, etcdHost, redisHost, zookeeperHost, type Host } from './hosts.ts';
import { Trio } from './outages.ts';
import { freshNamespace, storeUrl, TTL_MS } from './pair.ts';

const ROOT: URL = new URL('../../../', import.meta.url);
const VITEST = fileURLToPath(new URL('node_modules/vitest/vitest.mjs', ROOT));
const TESTS_MS = 900_000;

interface Subject {
  readonly host: Host;
  /**
   * The conformance cases of the store, and the tests of its servers: faults, certificates, users,
   * clusters.
   */
  readonly tests: readonly string[];
}

const valkeyHost: Host = { ...redisHost, start: () => startRedis({ version: 'newer' }) };

const subjects: readonly Subject[] = [
  { host: etcdHost, tests: ['packages/etcd/test/conformance.test.ts', ...serversOf('etcd', 'etcd-cluster')] },
  { host: zookeeperHost, tests: ['packages/zookeeper/test/conformance.test.ts', ...serversOf('zookeeper', 'zookeeper-cluster')] },
  { host: consulHost, tests: ['packages/consul/test/conformance.test.ts', ...serversOf('consul')] },
  { host: redisHost, tests: ['packages/redis/test/conformance.test.ts', ...serversOf('redis')] },
  { host: valkeyHost, tests: ['packages/redis/test/newer.conformance.test.ts'] },
];

function serversOf(...names: readonly string[]): readonly string[] {
  return names.map((name) => `test/support/test/${name}.test.ts`);
}

/**
 * Runs an election on a server in a container that is paused for longer than the ttl, and is then
 * killed and restarted. Also asks the engine about the state of the container.
 */
export async function electInContainer(engine: Engine, host: Host): Promise<Figures> {
  const before = new Set((await engine.containers()).map(({ id }) => id));
  const startedAt = now();
  await using server = await host.start();
  const startMs = now() - startedAt;
  const container = async (): Promise<ContainerState['state'] | undefined> =>
    (await engine.containers()).find(({ id }) => !before.has(id))?.state;
  assert.equal(await container(), 'running');

  const trio = new Trio([storeUrl([server.url], freshNamespace(), host.store)]);
  try {
    await trio.start();
    const first = await trio.leads(now(), 'a leader');
    await server.pause();
    const pausedAt = now();
    assert.equal(await container(), 'paused');
    await sleep(TTL_MS + 1_000);
    const validMs = trio.lastValid() - pausedAt;
    assert.ok(validMs < TTL_MS, `was valid for ${validMs} ms after the store had gone`);
    await server.resume();
    const resumedAt = now();
    const second = await trio.leads(resumedAt, 'a leader after the pause');
    assert.ok(second.term >= first.term);

    await server.kill();
    assert.equal(await container(), 'exited');
    await server.restart();
    const restartedAt = now();
    const third = await trio.leads(restartedAt, 'a leader after the kill');
    assert.equal(await container(), 'running');
    await trio.killLeader();
    const fourth = await trio.leads(now(), 'a leader after the last one was killed');
    assert.ok(fourth.term > third.term, 'terms rise');
    trio.check();
    return { startMs, validMs, resumedMs: second.at - resumedAt, recoveredMs: third.at - restartedAt };
  } finally {
    await trio.stop();
  }
}

/**
 * Runs few cases at a time and repeats failures, because cases wait for events within a second or
 * two, and a busy machine may take longer.
 */
const PACE = ['--no-file-parallelism', '--max-concurrency=2', '--retry=2'] as const;

/** Runs test files in a process that must use servers in containers. */
async function runTests(engine: Engine, files: readonly string[]): Promise<Figures> {
  const sinceMs = Date.now();
  const options = ['--no-color', ...PACE, '--project', 'conformance', '--project', 'integration'];
  const { status, output } = await outcomeOf([process.execPath, VITEST, 'run', ...options, ...files], {
    cwd: ROOT,
    timeoutMs: TESTS_MS,
    env: {
      INCUMBENT_REQUIRE_STORES: '1',
      ...{
        INCUMBENT_TEST_BROKER: '',
        INCUMBENT_TEST_CONSUL: '',
        INCUMBENT_TEST_ETCD: '',
        INCUMBENT_TEST_REDIS: '',
        INCUMBENT_TEST_ZOOKEEPER: '',
      },
    },
  });
  const [, passed = '0'] = /^(\d+) passed, 0 failed(?:, \d+ skipped)?$/m.exec(output) ?? [];
  assert.ok(status === 0 && Number(passed) > 0, output);
  const containers = await engine.startsSince(sinceMs);
  assert.ok(containers > 0, 'no container was started');
  return { tests: Number(passed), containers };
}

export const containers: Check = {
  name: 'containers',
  claim:
    'Servers in containers pass every case of their store and every test of servers, and an election on one outlives that its container stands still or is killed.',
  method:
    'Docker by testcontainers, with images of Debian’s packages; an engine that answers, or one that is started for it. A run is a store: etcd, ZooKeeper, Consul, Redis, Valkey. tests: those that passed, none failed in three tries, on ' +
    `that many containers at least, by the last 256 events, which are all that an engine remembers. Then three processes, ttl ${TTL_MS} ms: the container is paused for ${TTL_MS / 1_000 + 1} s, goes on, is killed and started again, as the engine is asked each time. start: until the server ` +
    'serves; valid: from the pause to the last isValid() that was true; resumed, recovered: from then to a member saying that it leads; then the leader is killed, and a higher term follows.',
  runs: subjects.length,
  parallel: 1,
  open: async () => {
    const { engine, [Symbol.asyncDispose]: dispose } = await useEngine();
    return {
      run: async (index) => {
        const { host, tests } = subjects[index % subjects.length] ?? assert.fail();
        return { figures: { ...(await runTests(engine, tests)), ...(await electInContainer(engine, host)) } };
      },
      [Symbol.asyncDispose]: dispose,
    };
  },
};
