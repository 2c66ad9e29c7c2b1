/** A server that has lost the others and does not know it. */

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkHistory } from '@incumbent/conformance';
import { startZookeeperCluster } from '@incumbent/test-support';
import { historyOf, now } from '../history.ts';
import { onServer, type Check } from './check.ts';
import { zookeeperHost } from './hosts.ts';
import { at, ELECTION, freshNamespace, lastValid, WAIT_MS, spawnMember, storeUrl, TTL_MS } from './pair.ts';

export const followerCutOff: Check = {
  name: 'zookeeper-follower-cut-off',
  claim:
    'When a ZooKeeper server is cut off from the other two while the leader of an election stays connected to it, that leader stops considering itself leader before the next one leads.',
  method:
    `Three servers; one process, ttl ${TTL_MS} ms, knows only a follower, and leads; another knows the others. The follower is cut off from them at a random phase, and goes on ` +
    'answering pings. margin: from the last isValid() that was true (asked every 5 ms) to the moment at which the next one is told that it leads.',
  runs: 20,
  parallel: 1,
  open: onServer(
    () => startZookeeperCluster({ size: 3 }),
    async (cluster, { random }) => {
      const leader = await cluster.leader();
      const follower = (leader + 1) % 3;
      const others = cluster.endpoints.filter((_, index) => index !== follower);
      const [server, ensembleLeader] = [cluster.servers[follower], cluster.servers[leader]];
      assert.ok(server !== undefined && ensembleLeader !== undefined);
      const namespace = freshNamespace();
      await using a = await spawnMember(storeUrl([server.url], namespace, 'zookeeper'), 'a');
      await a.waitFor('elected', { withinMs: WAIT_MS });
      await using b = await spawnMember(storeUrl(others, namespace, 'zookeeper'), 'b');
      while (!(await zookeeperHost.hasKey(ensembleLeader, `${namespace}/elections/${ELECTION}/candidates/b~`))) await sleep(25);
      await sleep(random() * TTL_MS * 0.7);
      const cutAt = now();
      cluster.cutOff(follower);
      const elected = await b.waitFor('elected', { withinMs: WAIT_MS });
      const marginMs = at(elected) - lastValid(a, 1n);
      assert.ok(marginMs > 0, `two leaders for ${-marginMs} ms`);
      await cluster.heal();
      for (const member of [a, b]) member.sigterm();
      await Promise.all([a.waitFor('closed', { withinMs: WAIT_MS }), b.waitFor('closed', { withinMs: WAIT_MS })]);
      assert.deepEqual(checkHistory([...historyOf(a, 'a', ELECTION), ...historyOf(b, 'b', ELECTION)], {}), []);
      return { figures: { marginMs, failoverMs: at(elected) - cutAt } };
    },
  ),
};
