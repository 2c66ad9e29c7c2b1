/** Three etcd servers behind one address, as behind a service name or a load balancer. */

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { openStore } from 'incumbent';
import { Balancer, startEtcdCluster, until, type Balanced, type EtcdCluster } from '@incumbent/test-support';
import { now } from '../history.ts';
import { onServer, type Check } from './check.ts';
import { etcdHost } from './hosts.ts';
import { assertNothingLost, assertSucceeds, Onlooker, OBSERVER_MS } from './onlooker.ts';
import { ELECTION, freshNamespace, WAIT_MS, spawnMember, storeUrl } from './pair.ts';

/** The default ttl. All timing of these members is the default. */
const DEFAULT_TTL_MS = 10_000;
/** Longer than a leader stays valid without a renewal. */
const WATCHED_MS = 1.5 * DEFAULT_TTL_MS;

const FAULTS = ['paused', 'blackholed', 'withoutLeader'] as const;
type Fault = (typeof FAULTS)[number];

/**
 * Injects a fault into the server of this connection, or into the connection. Returns the repair.
 */
async function injectFault(cluster: EtcdCluster, balancer: Balancer, { to }: Balanced, fault: Fault): Promise<() => Promise<void>> {
  const server = cluster.servers[to];
  assert.ok(server !== undefined);
  switch (fault) {
    case 'paused':
      await server.pause();
      return () => server.resume();
    case 'blackholed':
      balancer.blackhole();
      return async () => {};
    case 'withoutLeader':
      cluster.cutOff(to);
      return () => cluster.heal();
    default:
      return fault satisfies never;
  }
}

async function oneRun(cluster: EtcdCluster, fault: Fault, random: () => number): Promise<Readonly<Record<string, number>>> {
  const namespace = freshNamespace();
  await using balancer = await Balancer.open(cluster.endpoints);
  balancer.next = Math.floor(random() * 3);
  await using a = await spawnMember(storeUrl([balancer.url], namespace), 'a', DEFAULT_TTL_MS);
  await a.waitFor('elected', { withinMs: WAIT_MS });
  const old = balancer.connections.at(-1);
  assert.ok(old !== undefined);
  balancer.next = old.to;
  await using onlooker = new Onlooker(await openStore(storeUrl([balancer.url], namespace)));
  await onlooker.sees('a');
  await using b = await spawnMember(storeUrl(cluster.endpoints, namespace), 'b', DEFAULT_TTL_MS);
  const isQueued = (): Promise<boolean> => etcdHost.hasKey(cluster, `${namespace}/elections/${ELECTION}/candidates/b~`);
  await until(isQueued, { what: 'b is in the queue', withinMs: WAIT_MS });
  await sleep((random() * DEFAULT_TTL_MS) / 3);
  const known = balancer.connections.length;
  // The next connection may lead to the same server again.
  balancer.next = Math.floor(random() * 3);
  const faultAt = now();
  const heal = await injectFault(cluster, balancer, old, fault);
  try {
    await sleep(WATCHED_MS);
    assertNothingLost(a, b);
    const isGood = ({ to }: Balanced): boolean => fault === 'blackholed' || to !== old.to;
    const moved = balancer.connections.slice(known).find(isGood);
    assert.ok(moved !== undefined, 'a connection to another server');
    await assertSucceeds(a, b, onlooker);
    return { [`${fault}MovedMs`]: moved.openedAt - faultAt, connections: balancer.connections.length - known };
  } finally {
    await heal();
    for (const server of cluster.servers) {
      await until(() => server.ctl(['get', 'healed']).then(() => true), { what: 'each server to serve', withinMs: WAIT_MS });
    }
  }
}

export const etcdSingleEndpoint: Check = {
  name: 'etcd-single-endpoint',
  claim:
    'A leader that knows one address, behind which there are three etcd servers, leads on with the default timing where its server hangs, its connection goes silent, or its server has lost the others.',
  method:
    `One process leads by way of a TCP load balancer that leads each new connection to the next of three servers, all timing by default (ttl ${DEFAULT_TTL_MS} ms); another one waits on the servers themselves. ` +
    'In turn, at a random phase, the server behind the connection is stopped (SIGSTOP), the connection passes nothing any more, or that server is cut off from the other two; the next connection may lead to it again. Watched for ' +
    `${WATCHED_MS / 1_000} s: nobody's leadership ends. Then the leader shuts down and the other one leads. An observer that began at the same server, through the balancer, shows the truth, or unknown, all the time, ${OBSERVER_MS / 1_000} s late at most. moved: from the fault until a connection to another server (or, of a silent connection, to any) is opened; ` +
    'connections: how many are opened after the fault.',
  runs: 20,
  parallel: 1,
  open: onServer(
    () => startEtcdCluster({ size: 3, gated: true }),
    async (cluster, { random }, index) => ({ figures: await oneRun(cluster, FAULTS[index % FAULTS.length] ?? 'paused', random) }),
  ),
};
