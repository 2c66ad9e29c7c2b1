/** Faults that only Kubernetes has: those of the etcd behind the API server. */

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkHistory } from '@incumbent/conformance';
import { startProxy, until, type KubernetesServer, type ScriptEvent } from '@incumbent/test-support';
import { historyOf, now } from '../history.ts';
import { onServer, type Check, type Figures } from './check.ts';
import { kubernetesHost } from './kubernetes-host.ts';
import { onTrio, OUTAGE_METHOD } from './outages.ts';
import { at, ELECTION, freshNamespace, lastValid, Pair, spawnMember, storeUrl, termOf, TTL_MS, WAIT_MS } from './pair.ts';

/** How long etcd stands still. Longer than a leader stays valid without a renewal. */
const STOPPED_MS = 1.5 * TTL_MS;

async function whileEtcdStands(server: KubernetesServer, random: () => number): Promise<Figures> {
  await using pair = await Pair.open(kubernetesHost, server);
  const next = (): ScriptEvent | undefined =>
    [...pair.a.events, ...pair.b.events].find((event) => event.event === 'elected' && termOf(event) > pair.term);
  await sleep(random() * TTL_MS * 0.3);
  const stoppedAt = now();
  await server.etcd.pause();
  try {
    await pair.a.waitFor('ended', { withinMs: WAIT_MS });
    await sleep(Math.max(0, stoppedAt + STOPPED_MS - now()));
    assert.equal(next(), undefined, 'nobody is elected while etcd stands still');
  } finally {
    await server.etcd.resume();
  }
  const resumedAt = now();
  const elected = await until(next, { what: 'a leader after etcd continues', withinMs: WAIT_MS });
  const figures = { validMs: lastValid(pair.a, pair.term) - stoppedAt, nextMs: at(elected) - resumedAt };
  await pair.finish();
  return figures;
}

const etcdStopped: Check = {
  name: 'kubernetes-etcd-stopped',
  claim:
    'While the etcd behind the API server stands still, the leader stops considering itself leader within its ttl, and nobody is elected; afterwards one is.',
  method:
    `Two processes, ttl ${TTL_MS} ms; at a random phase of the leader's renewals etcd is stopped (SIGSTOP) for ${STOPPED_MS} ms. valid: from the stop to the leader's last isValid() that was true; ` +
    'next: from SIGCONT to a member being told that it leads, in a higher term.',
  runs: 20,
  parallel: 1,
  open: onServer(
    () => kubernetesHost.start(),
    async (server, { random }) => {
      const figures = await whileEtcdStands(server, random);
      assert.ok(Number(figures['validMs']) <= TTL_MS, `the leader was valid for ${figures['validMs']} ms without etcd`);
      return { figures };
    },
  ),
};

const etcdKill: Check = {
  name: 'kubernetes-etcd-kill',
  claim: 'When the etcd behind the API server is killed (kill -9) and restarted, elections recover by themselves, and terms rise.',
  method: OUTAGE_METHOD,
  runs: 20,
  parallel: 1,
  open: onTrio({
    host: kubernetesHost,
    start: () => kubernetesHost.start(),
    ways: ({ endpoints }) => [endpoints],
    pick: ({ etcd }) => etcd,
  }),
};

/** Removes all earlier versions of all objects, as the API server does every five minutes. */
async function compact(server: KubernetesServer): Promise<void> {
  const answer = await server.ctl(['get', 'any', '-w', 'json']);
  const revision = /"revision":(\d+)/.exec(answer)?.[1];
  assert.ok(revision !== undefined, 'etcdctl prints the revision');
  await server.ctl(['compact', revision]);
}

async function acrossCompaction(server: KubernetesServer, random: () => number): Promise<Figures> {
  await using proxy = await startProxy(server.url);
  const namespace = freshNamespace();
  await using a = await spawnMember(storeUrl([server.url], namespace, 'kubernetes'), 'a');
  const first = await a.waitFor('elected', { withinMs: WAIT_MS });
  await using b = await spawnMember(storeUrl([proxy.url], namespace, 'kubernetes'), 'b');
  const isQueued = (): Promise<boolean> => kubernetesHost.hasKey(server, `${namespace}/elections/${ELECTION}/candidates/b~`);
  await until(isQueued, { what: 'b is in the queue', withinMs: WAIT_MS });
  await sleep(random() * TTL_MS * 0.3);
  // The leader goes on renewing, so the versions that the watches of b know are compacted.
  proxy.refuse();
  proxy.reset();
  await sleep(TTL_MS * 0.3);
  await compact(server);
  await server.kill('SIGKILL');
  await server.restart();
  await proxy.heal();
  const { length } = a.events;
  await a.waitFor('valid', { withinMs: WAIT_MS, from: length });
  a.sigkill();
  const killedAt = now();
  const elected = await b.waitFor('elected', { withinMs: WAIT_MS });
  assert.ok(termOf(elected) > termOf(first), 'terms rise');
  const events = [...historyOf(a, 'a', ELECTION), { type: 'died' as const, at: killedAt, member: 'a' }, ...historyOf(b, 'b', ELECTION)];
  assert.deepEqual(checkHistory(events, { unfinished: true }), []);
  return { nextMs: at(elected) - killedAt };
}

const compaction: Check = {
  name: 'kubernetes-compaction',
  claim: 'A candidate whose watches begin again at a version that was compacted still succeeds a leader that is killed.',
  method:
    `Two processes, ttl ${TTL_MS} ms; the candidate's link is cut at a random phase, the leader renews, etcd is compacted, and the API server is killed and restarted. With the link healed and the leader ` +
    'valid again, it is killed. next: from the kill to the candidate being told that it leads.',
  runs: 20,
  parallel: 1,
  open: onServer(
    () => kubernetesHost.start(),
    async (server, { random }) => ({ figures: await acrossCompaction(server, random) }),
  ),
};

/** The checks of the etcd behind the API server. */
export const kubernetesEtcdChecks: readonly Check[] = [etcdStopped, etcdKill, compaction];
