import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';

import {
  fourLetterWord,
  requireStore,
  startZookeeperCluster,
  until,
  type ZookeeperCluster,
  type ZookeeperClusterServer,
} from '../src/index.ts';
import { ZookeeperSession } from './zookeeper-client.ts';

const ALL = [0, 1, 2] as const;
const SOON = { withinMs: 20_000 };

/** The servers put up with 3 s of silence, and not with 10. */
const TICKS = ['initLimit=12', 'syncLimit=6'];

describe.runIf(await requireStore({ store: 'zookeeper', own: true }))('a ZooKeeper of three servers', () => {
  let cluster: ZookeeperCluster;

  beforeAll(async () => {
    cluster = await startZookeeperCluster({ size: 3, readOnly: true, settings: TICKS });
  });

  afterEach(async () => {
    await cluster.heal();
    for (const index of ALL) await at(index).resume();
    await until(async () => (await modes()).toSorted().join() === 'follower,follower,leader', { what: 'a whole cluster', ...SOON });
  });

  afterAll(() => cluster.stop());

  function at(index: number): ZookeeperClusterServer {
    const server = cluster.servers[index];
    if (server === undefined) throw new RangeError(`no server ${index}`);
    return server;
  }

  async function modeOf(index: number): Promise<string> {
    const status = await fourLetterWord(at(index), 'srvr').catch(() => '');
    return /^Mode: (.*)$/m.exec(status)?.[1] ?? 'none';
  }

  function modes(): Promise<string[]> {
    return Promise.all(ALL.map(modeOf));
  }

  async function create(path: string, server: number): Promise<void> {
    using session = await ZookeeperSession.open(at(server).url, 4_000);
    await expect(session.create(path)).resolves.toBe(0);
  }

  /** The same as soon as that server serves. */
  function createSoon(path: string, server: number): Promise<boolean> {
    return until(() => create(path, server).then(() => true), { what: `a node by server ${server}`, ...SOON });
  }

  function others(index: number): readonly [number, number] {
    return [(index + 1) % 3, (index + 2) % 3];
  }

  test('is one: what one is told, the others know, and all agree on who leads', async () => {
    expect(cluster.servers.map(({ url }) => url)).toEqual(cluster.endpoints);
    expect((await modes()).indexOf('leader')).toBe(await cluster.leader());
    await create('/shared', 0);
    await expect(at(1).ctl(['get', '/shared'])).resolves.toBe('value\n');
    await expect(cluster.ctl(['get', '/shared'])).resolves.toBe('value\n');
  });

  test.for(ALL)('survives that server %i is killed, and takes it up again', async (index) => {
    await at(index).kill();
    const [next] = others(index);
    expect(await cluster.leader()).not.toBe(index);
    await createSoon(`/killed-${index}`, next);
    await at(index).restart();
    await expect(modeOf(index)).resolves.toBe('follower');
    await expect(at(index).ctl(['get', `/killed-${index}`])).resolves.toBe('value\n');
  });

  test('its leader paused, another one leads; resumed, the former one follows', async () => {
    const first = await cluster.leader();
    await at(first).pause();
    const second = await cluster.leader();
    expect(second).not.toBe(first);
    await at(first).resume();
    await until(async () => (await modeOf(first)) === 'follower', { what: 'a follower', ...SOON });
    await expect(cluster.leader()).resolves.toBe(second);
  });

  test('a follower that is cut off still answers its clients, and does not learn what the others agree upon', async () => {
    const [follower, other] = others(await cluster.leader());
    using session = await ZookeeperSession.open(at(follower).url, 4_000);
    cluster.cutOff(follower);
    await create('/unheard', other);
    await expect(session.ping()).resolves.toBe(0);
    await expect(fourLetterWord(at(follower), 'stat')).resolves.toContain('Mode: follower');
    await expect(session.getData('/unheard')).resolves.toBe(NO_NODE);
    await until(async () => (await modeOf(follower)) !== 'follower', { what: 'a follower that gives up', ...SOON });
    await cluster.heal();
    await until(async () => (await modeOf(follower)) === 'follower', { what: 'a follower again', ...SOON });
    await expect(at(follower).ctl(['get', '/unheard'])).resolves.toBe('value\n');
  });

  test('a leader that is cut off is replaced by the others, gives up, and follows when healed', async () => {
    const former = await cluster.leader();
    const [next] = others(former);
    cluster.cutOff(former);
    const isReplaced = async (): Promise<boolean> => (await cluster.leader()) !== former;
    await until(isReplaced, { what: 'another leader', ...SOON });
    await createSoon('/replaced', next);
    await until(async () => (await modeOf(former)) !== 'leader', { what: 'a leader that gives up', ...SOON });
    await cluster.heal();
    await until(async () => (await modeOf(former)) === 'follower', { what: 'a follower', ...SOON });
    await expect(at(former).ctl(['get', '/replaced'])).resolves.toBe('value\n');
  });

  test('two of the followers cut from one another notice nothing', async () => {
    const leader = await cluster.leader();
    const [one, other] = others(leader);
    cluster.cut(one, other);
    await create('/apart', one);
    await expect(at(other).ctl(['get', '/apart'])).resolves.toBe('value\n');
    await expect(cluster.leader()).resolves.toBe(leader);
    expect(() => cluster.cut(one, one)).toThrow(RangeError);
    expect(() => cluster.cutOff(3)).toThrow(RangeError);
  });

  test('what a leader that is slow to the others agrees upon with them takes that much longer', async () => {
    const leader = await cluster.leader();
    using session = await ZookeeperSession.open(at(leader).url, 4_000);
    const tookMs = async (path: string): Promise<number> => {
      const before = performance.now();
      await session.create(path);
      return performance.now() - before;
    };
    cluster.slow(leader, 150);
    expect(await tookMs('/slow')).toBeGreaterThan(2 * 150);
    await cluster.heal();
    await expect(cluster.leader()).resolves.toBe(leader);
    expect(() => cluster.slow(3, 150)).toThrow(RangeError);
  });

  test('without a quorum a server serves reads alone; with it again, all serve', async () => {
    await Promise.all([at(0).kill(), at(1).kill()]);
    await until(async () => (await modeOf(2)) === 'read-only', { what: 'a server for reads', ...SOON });
    await Promise.all([at(0).restart(), at(1).restart()]);
    await createSoon('/together', 2);
  });
});

const NO_NODE = -101;
