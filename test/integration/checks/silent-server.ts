/** A ZooKeeper server that becomes silent while two others serve. */

import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { openZookeeper } from '@incumbent/zookeeper';
import type { Store } from 'incumbent';
import { fourLetterWord, startZookeeperCluster, until, type ZookeeperCluster } from '@incumbent/test-support';
import { onServer, type Check } from './check.ts';
import { zookeeperHost } from './hosts.ts';
import { assertNothingLost, assertSucceeds, Onlooker, OBSERVER_MS } from './onlooker.ts';
import { ELECTION, freshNamespace, WAIT_MS, spawnMember, storeUrl } from './pair.ts';
import { nodesBySession } from './zookeeper.ts';

/** The default ttl. All timing of these members is the default. */
const DEFAULT_TTL_MS = 10_000;
/** Longer than a leader stays valid without a renewal. */
const WATCHED_MS = 1.5 * DEFAULT_TTL_MS;

type Server = ZookeeperCluster['servers'][number];

/** Which of these servers the session of this node is connected to. Undefined if none of them. */
async function serverOf(leader: Server, node: string, servers: readonly Server[]): Promise<Server | undefined> {
  const sessions = [...(await nodesBySession(leader))];
  const session = sessions.find(([, paths]) => paths.includes(node))?.[0];
  assert.ok(session !== undefined, `a session with ${node}`);
  for (const server of servers) if ((await fourLetterWord(server, 'cons')).includes(`sid=${session},`)) return server;
  return undefined;
}

/** Opens a store that sends its reads and watches to this server, and that knows the others. */
async function openOn(server: Server, others: readonly Server[], namespace: string): Promise<Store> {
  const hosts = [server, ...others].map(({ url }) => new URL(url).host);
  for (;;) {
    const used: string[] = [];
    const store = await openZookeeper({
      endpoints: hosts,
      namespace,
      connect: (endpoint) => {
        used.push(`${endpoint.host}:${endpoint.port}`);
        return connect({ ...endpoint, noDelay: true });
      },
    });
    if (used.at(-1) === hosts[0]) return store;
    await store.close();
  }
}

async function oneRun(cluster: ZookeeperCluster, random: () => number): Promise<Readonly<Record<string, number>>> {
  const namespace = freshNamespace();
  const leader = cluster.servers[await cluster.leader()];
  assert.ok(leader !== undefined);
  const followers = cluster.servers.filter((server) => server !== leader);
  const urls = followers.map(({ url }) => url);
  await using a = await spawnMember(storeUrl(urls, namespace, 'zookeeper'), 'a', DEFAULT_TTL_MS);
  await a.waitFor('elected', { withinMs: WAIT_MS });
  await using b = await spawnMember(storeUrl(cluster.endpoints, namespace, 'zookeeper'), 'b', DEFAULT_TTL_MS);
  const isQueued = (): Promise<boolean> => zookeeperHost.hasKey(leader, `${namespace}/elections/${ELECTION}/candidates/b~`);
  await until(isQueued, { what: 'b is in the queue', withinMs: WAIT_MS });
  await sleep((random() * DEFAULT_TTL_MS) / 3);
  const node = `/${namespace}/elections/${ELECTION}/leader`;
  const silent = await serverOf(leader, node, followers);
  assert.ok(silent !== undefined, 'a follower has the session');
  const others = followers.filter((server) => server !== silent);
  await using onlooker = new Onlooker(await openOn(silent, others, namespace));
  await onlooker.sees('a');
  await silent.pause();
  try {
    await sleep(WATCHED_MS);
    assertNothingLost(a, b);
    assert.ok((await serverOf(leader, node, others)) !== undefined, 'the session has moved');
    await assertSucceeds(a, b, onlooker);
    return { failedRenewals: a.events.filter(({ event, fields }) => event === 'trouble' && fields['trouble'] === 'sessionSuspect').length };
  } finally {
    await silent.resume();
    await until(async () => (await fourLetterWord(silent, 'mntr')).includes('zk_server_state\tfollower'), {
      what: 'the silent server to follow again',
      withinMs: WAIT_MS,
    });
  }
}

export const zookeeperSilentServer: Check = {
  name: 'zookeeper-silent-server',
  claim: 'With the default timing a leader keeps leading when the ZooKeeper server of its session becomes silent and two others serve.',
  method:
    `Three servers. One process leads by way of the two followers, all timing by default (ttl ${DEFAULT_TTL_MS} ms); another one waits on all three. At a random phase the follower that has the session of the ` +
    `leader's record is stopped (SIGSTOP). Watched for ${WATCHED_MS / 1_000} s: nobody's leadership ends, and the session is at another server. Then the leader shuts down and the other one leads. ` +
    `An observer that began at the silent server shows the truth, or unknown, all the time, ${OBSERVER_MS / 1_000} s late at most. ` +
    'failedRenewals: how often a renewal failed.',
  runs: 20,
  parallel: 1,
  open: onServer(
    () => startZookeeperCluster({ size: 3 }),
    async (cluster, { random }) => ({ figures: await oneRun(cluster, random) }),
  ),
};
