import { describe, expect, test } from 'vitest';

import { requireStore, startEtcdCluster, until, type EtcdCluster, type EtcdClusterServer } from '../src/index.ts';

const SHORT = ['--dial-timeout=500ms', '--command-timeout=500ms'];

function at(cluster: EtcdCluster, index: number): EtcdClusterServer {
  const server = cluster.servers[index];
  if (server === undefined) throw new RangeError(`no server ${index}`);
  return server;
}

/** The index of the leader in etcdctl's own words. */
async function leaderBy(cluster: EtcdCluster, server: EtcdClusterServer): Promise<number> {
  const lines = (await server.ctl([`--endpoints=${cluster.endpoints.join(',')}`, 'endpoint', 'status'])).trim().split('\n');
  const led = lines.map((line) => line.split(', ')).find((columns) => columns[4] === 'true');
  return cluster.endpoints.indexOf(led?.[0] ?? '');
}

describe.runIf(await requireStore({ store: 'etcd', own: true }))('an etcd of three servers', () => {
  test('is one cluster: a write through one server is read through the others, and all name the same leader', async () => {
    await using cluster = await startEtcdCluster({ size: 3 });
    expect(cluster.servers.map(({ url }) => url)).toEqual(cluster.endpoints);
    await at(cluster, 0).ctl(['put', 'key', 'value']);
    for (const server of cluster.servers) expect(await server.ctl(['get', '--print-value-only', 'key'])).toBe('value\n');
    expect(await cluster.leader()).toBe(await leaderBy(cluster, at(cluster, 0)));
  });

  test('its leader killed, another one leads; started again, it follows with the data that it missed', async () => {
    await using cluster = await startEtcdCluster();
    await cluster.ctl(['put', 'key', 'before']);
    const first = await cluster.leader();
    await at(cluster, first).kill();
    const second = await cluster.leader();
    expect(second).not.toBe(first);
    await at(cluster, second).ctl(['put', 'key', 'after']);
    await at(cluster, first).restart();
    expect(await at(cluster, first).ctl(['get', '--print-value-only', 'key'])).toBe('after\n');
    expect(await leaderBy(cluster, at(cluster, first))).toBe(await cluster.leader());
  });

  test('its leader paused, another one leads; resumed, the former one follows', async () => {
    await using cluster = await startEtcdCluster();
    const first = await cluster.leader();
    await at(cluster, first).pause();
    const second = await cluster.leader();
    expect(second).not.toBe(first);
    await at(cluster, first).resume();
    await expect(cluster.leader()).resolves.toBe(second);
    expect(await leaderBy(cluster, at(cluster, second))).toBe(second);
  });

  test('without a quorum nothing is agreed upon; with it again, all serve', async () => {
    await using cluster = await startEtcdCluster();
    await cluster.ctl(['put', 'key', 'value']);
    await Promise.all([at(cluster, 0).kill(), at(cluster, 1).kill()]);
    await expect(at(cluster, 2).ctl([...SHORT, 'put', 'key', 'lost'])).rejects.toThrow(/deadline exceeded|unavailable|no leader/i);
    await Promise.all([at(cluster, 0).restart(), at(cluster, 1).restart()]);
    await cluster.ctl(['put', 'key', 'value']);
    for (const server of cluster.servers) expect(await server.ctl(['get', '--print-value-only', 'key'])).toBe('value\n');
  });

  test('its leader cut off from the others, one of them leads; it answers no more, and follows when healed', async () => {
    await using cluster = await startEtcdCluster({ gated: true });
    const former = await cluster.leader();
    cluster.cutOff(former);
    await until(async () => (await cluster.leader()) !== former, { what: 'another leader', withinMs: 10_000 });
    const next = await cluster.leader();
    await at(cluster, next).ctl(['put', 'key', 'unheard']);
    await expect(at(cluster, former).ctl([...SHORT, 'get', 'key'])).rejects.toThrow(/deadline exceeded|unavailable|no leader/i);
    await expect(at(cluster, former).ctl([...SHORT, 'get', '--consistency=s', 'key'])).resolves.toBe('');
    await cluster.heal();
    const hasHeard = async (): Promise<boolean> => (await at(cluster, former).ctl(['get', '--print-value-only', 'key'])) === 'unheard\n';
    await until(hasHeard, { what: 'a follower that knows what it missed', withinMs: 10_000 });
  });

  test('a follower cut off from the others is not missed, and catches up when it is killed and started again behind its gate', async () => {
    await using cluster = await startEtcdCluster({ gated: true });
    const leader = await cluster.leader();
    const follower = (leader + 1) % 3;
    cluster.cutOff(follower);
    await at(cluster, leader).ctl(['put', 'key', 'unheard']);
    expect(await cluster.leader()).toBe(leader);
    await at(cluster, follower).kill();
    await cluster.heal();
    await at(cluster, follower).restart();
    expect(await at(cluster, follower).ctl(['get', '--print-value-only', 'key'])).toBe('unheard\n');
  });

  test('a follower cut off one way from its leader is heard, and does not hear; or it hears, and is not heard', async () => {
    await using cluster = await startEtcdCluster({ gated: true });
    const leader = await cluster.leader();
    const follower = (leader + 1) % 3;
    const askFollower = (key: string): Promise<Response> => {
      const body = JSON.stringify({ key: Buffer.from(key).toString('base64'), value: Buffer.from('said').toString('base64') });
      // Sent from here, so that it arrives while the follower still knows the leader.
      return fetch(new URL('/v3/kv/put', at(cluster, follower).url), { method: 'POST', body, signal: AbortSignal.timeout(500) });
    };
    const valueAt = (server: number, key: string): Promise<string> =>
      at(cluster, server).ctl(['get', '--consistency=s', '--print-value-only', key]);

    cluster.cutOneWay(leader, follower);
    await expect(askFollower('heard')).rejects.toThrow(/timeout/i);
    await until(async () => (await valueAt(leader, 'heard')) === 'said\n', { what: 'the leader to hear the follower' });
    expect(await valueAt(follower, 'heard')).toBe('');
    await cluster.heal();
    await until(async () => (await valueAt(follower, 'heard')) === 'said\n', { what: 'the follower to hear what it missed' });

    const next = await cluster.leader();
    const other = (next + 1) % 3;
    await until(async () => (await valueAt(other, 'heard')) === 'said\n', { what: 'the other one to follow' });
    cluster.cutOneWay(other, next);
    await expect(at(cluster, other).ctl([...SHORT, 'put', 'unheard', 'said'])).rejects.toThrow(/deadline exceeded|unavailable|no leader/i);
    await at(cluster, next).ctl(['put', 'key', 'told']);
    await until(async () => (await valueAt(other, 'key')) === 'told\n', { what: 'the follower to hear the leader' });
    expect(await valueAt(next, 'unheard')).toBe('');
  });

  test('what a leader that is slow to the others agrees upon with them takes that much longer', async () => {
    await using cluster = await startEtcdCluster({ gated: true });
    const leader = await cluster.leader();
    cluster.slow(leader, 150);
    const before = performance.now();
    await at(cluster, leader).ctl(['put', 'key', 'value']);
    expect(performance.now() - before).toBeGreaterThan(2 * 150);
    await cluster.heal();
    expect(await cluster.leader()).toBe(leader);
  });

  test('only one whose servers are gated can be parted', async () => {
    await using cluster = await startEtcdCluster();
    expect(() => cluster.cutOff(0)).toThrow(/gated/);
    await using gated = await startEtcdCluster({ gated: true });
    expect(() => gated.cutOff(3)).toThrow(RangeError);
  });

  test('with users and certificates it is the same', async () => {
    await using cluster = await startEtcdCluster({ tls: 'mutual', auth: { user: 'alice', password: 'secret' } });
    const first = await cluster.leader();
    await at(cluster, first).kill();
    const second = await cluster.leader();
    expect(second).not.toBe(first);
    await expect(at(cluster, second).ctl(['--user=alice:secret', 'put', 'key', 'value'])).resolves.toBe('OK\n');
  });
});
