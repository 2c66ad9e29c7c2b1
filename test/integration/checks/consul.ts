/** What holds on Consul alone. */

import assert from 'node:assert/strict';
import diagnosticsChannel from 'node:diagnostics_channel';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkHistory } from '@incumbent/conformance';
import { Member, openStore, type Store } from 'incumbent';
import { startConsul, startConsulCluster, until, type ScriptProcess } from '@incumbent/test-support';
import { historyOf, now } from '../history.ts';
import { UndiciRequests } from '../undici-requests.ts';
import type { Check } from './check.ts';
import { consulHost } from './hosts.ts';
import { at, ELECTION, freshNamespace, lastBelief, PATIENCE_MS, spawnMember, storeUrl } from './pair.ts';

/** Of sessions that are bound to checks. */
const SHORT_TTL_MS = 2_000;
const FAILOVER_MS = 2_500;

const CANDIDATES = [2, 100, 500];
const MOST_REQUESTS = 4;

const ELECTIONS = 1_000;
const MOST_QUERIES = 64;

async function queued(url: string, namespace: string, memberId: string): Promise<void> {
  const prefix = `${namespace}/elections/${ELECTION}/candidates/${memberId}~`;
  const look = async (): Promise<true | undefined> => ((await consulHost.hasKey({ ...NOBODY, url }, prefix)) ? true : undefined);
  await until(look, { what: `${memberId} is in the queue`, withinMs: PATIENCE_MS });
}

const NOBODY = { endpoints: [], version: '', ctl: () => Promise.reject(new Error('nobody')) };

async function closeBoth(a: ScriptProcess, b: ScriptProcess): Promise<void> {
  for (const member of [a, b]) member.sigterm();
  await Promise.all([a, b].map((member) => member.waitFor('closed', { withinMs: PATIENCE_MS })));
  assert.deepEqual(checkHistory([...historyOf(a, 'a', ELECTION), ...historyOf(b, 'b', ELECTION)], {}), []);
}

export const consulCrash: Check = {
  name: 'consul-crash',
  claim: `When a leader's process is killed (kill -9), with a ttl of ${SHORT_TTL_MS / 1_000} s on its machine's own agent, the next one leads within ${FAILOVER_MS / 1_000} s.`,
  method:
    'Two processes on one Consul of one server, which is their agent; sessions are bound to checks. The leader is killed at a random phase of its renewals. ' +
    'failover: from the kill to the next one being told that it leads.',
  runs: 20,
  parallel: 2,
  open: async () => {
    const consul = await startConsul();
    return {
      run: async (_index, { random }) => {
        const namespace = freshNamespace();
        const url = storeUrl([consul.url], namespace, 'consul');
        await using a = await spawnMember(url, 'a', SHORT_TTL_MS);
        await a.waitFor('elected', { withinMs: PATIENCE_MS });
        await using b = await spawnMember(url, 'b', SHORT_TTL_MS);
        await queued(consul.url, namespace, 'b');
        await sleep(random() * SHORT_TTL_MS);
        const killedAt = now();
        a.sigkill();
        const elected = await b.waitFor('elected', { withinMs: PATIENCE_MS });
        const failoverMs = at(elected) - killedAt;
        assert.ok(failoverMs < FAILOVER_MS, `it took ${failoverMs} ms`);
        return { figures: { failoverMs } };
      },
      [Symbol.asyncDispose]: async () => consul.stop(),
    };
  },
};

export const consulAgentCutOff: Check = {
  name: 'consul-agent-cut-off',
  claim:
    "When a leader's agent is cut off from the servers, and goes on acknowledging that the leader's check is passed, that leader stops believing before the next one leads.",
  method:
    `A server and an agent; one process, ttl ${SHORT_TTL_MS} ms, on the agent, leads; another is on the server. Nothing passes between agent and server from a random phase on. margin: from the ` +
    'last isValid() that was true (asked every 5 ms) to the moment at which the next one is told that it leads; failover: to there from the cut.',
  runs: 20,
  parallel: 1,
  open: async () => {
    const cluster = await startConsulCluster({ size: 1, agents: 1 });
    const agent = cluster.agents[0]?.url ?? '';
    return {
      run: async (_index, { random }) => {
        const serves = async (): Promise<true | undefined> =>
          (await fetch(new URL('/v1/catalog/nodes?consistent', agent), { signal: AbortSignal.timeout(2_000) })).ok || undefined;
        await until(() => serves().catch(() => undefined), { what: 'the agent serves', withinMs: PATIENCE_MS });
        const namespace = freshNamespace();
        await using a = await spawnMember(storeUrl([agent], namespace, 'consul'), 'a', SHORT_TTL_MS);
        await a.waitFor('elected', { withinMs: PATIENCE_MS });
        await using b = await spawnMember(storeUrl([cluster.url], namespace, 'consul'), 'b', SHORT_TTL_MS);
        await queued(cluster.url, namespace, 'b');
        await sleep(random() * SHORT_TTL_MS);
        const cutAt = now();
        cluster.cutOff();
        const elected = await b.waitFor('elected', { withinMs: PATIENCE_MS });
        const marginMs = at(elected) - lastBelief(a, 1n);
        assert.ok(marginMs > 0, `two leaders for ${-marginMs} ms`);
        await cluster.heal();
        await closeBoth(a, b);
        return { figures: { marginMs, failoverMs: at(elected) - cutAt } };
      },
      [Symbol.asyncDispose]: async () => cluster.stop(),
    };
  },
};

/** Members on stores of their own, as in processes of their own: none shares a watch with another. */
async function candidatesOn(
  url: string,
  count: number,
): Promise<{ readonly members: readonly Member[]; readonly stores: readonly Store[] }> {
  // Watches are not asked anew meanwhile.
  const stores = await Promise.all(Array.from({ length: count }, () => openStore(`${url}?watchWaitMs=600000&session=ttl`)));
  const members = stores.map((store, i) => new Member(store, { memberId: `c${i}`, ttlMs: 20_000 }));
  for (const member of members)
    member
      .election(ELECTION)
      .campaign()
      .catch(() => {});
  return { members, stores };
}

export const consulFailoverRequests: Check = {
  name: 'consul-failover-requests',
  claim: `A failover on Consul takes at most ${MOST_REQUESTS} requests at 2, 100 and 500 candidates (first come first served, watches not shared).`,
  method:
    'A leader in a process of its own is killed (SIGKILL); the other candidates are members on stores of their own in one process. requests: all that are sent, blocking queries ' +
    'included and renewals left out, from the kill to the next one being told that it leads.',
  runs: 3,
  parallel: 1,
  open: async () => {
    const consul = await startConsul();
    return {
      run: async (index) => {
        const candidates = CANDIDATES[index % CANDIDATES.length] ?? 2;
        const namespace = freshNamespace();
        const url = storeUrl([consul.url], namespace, 'consul');
        await using leader = await spawnMember(url, 'leader', SHORT_TTL_MS);
        await leader.waitFor('elected', { withinMs: PATIENCE_MS });
        const { members, stores } = await candidatesOn(url, candidates - 1);
        await until(async () => ((await members[0]?.election(ELECTION).candidates())?.length === candidates ? true : undefined), {
          what: 'all are in the queue',
          withinMs: 2 * PATIENCE_MS,
        });
        using requests = new UndiciRequests();
        await quiet(requests);
        let counted: readonly string[] | undefined;
        const elected = (): void => {
          counted ??= [...requests.sent];
        };
        diagnosticsChannel.subscribe('incumbent:elected', elected);
        requests.reset();
        leader.sigkill();
        await until(() => counted, { what: 'a new leader', withinMs: PATIENCE_MS });
        diagnosticsChannel.unsubscribe('incumbent:elected', elected);
        await Promise.all(members.map((member) => member.close()));
        await Promise.all(stores.map((store) => store.close()));
        const sent = counted ?? [];
        assert.ok(sent.length <= MOST_REQUESTS, `${sent.length} requests at ${candidates} candidates: ${sent.slice(0, 10).join(' ')}`);
        return { figures: { candidates, requests: sent.length } };
      },
      [Symbol.asyncDispose]: async () => consul.stop(),
    };
  },
};

/** Waits until nothing but renewals has been sent for a second. */
async function quiet(requests: UndiciRequests): Promise<void> {
  do {
    requests.reset();
    await sleep(1_000);
  } while (requests.sent.length > 0);
}

export const consulMany: Check = {
  name: 'consul-many',
  claim: `A process that leads ${ELECTIONS} elections on Consul has one session, and ${MOST_QUERIES} blocking queries at the most.`,
  method:
    'One member, ttl 10 s, on its own agent leads all. led: until it leads them all; queries: the most blocking queries without an answer at a time, by undici’s own word; perSecond: requests ' +
    'in the 10 s after, renewals left out.',
  runs: 1,
  parallel: 1,
  open: async () => {
    const consul = await startConsul();
    return {
      run: async () => {
        using requests = new UndiciRequests();
        await using store = await openStore(storeUrl([consul.url], freshNamespace(), 'consul'));
        await using member = new Member(store, { memberId: 'many', ttlMs: 10_000 });
        const from = now();
        await Promise.all(Array.from({ length: ELECTIONS }, (_, i) => member.election(`e${i}`).campaign()));
        const ledMs = now() - from;
        requests.reset();
        await sleep(10_000);
        const perSecond = requests.sent.length / 10;
        const queries = requests.mostWaiting;
        const sessions: unknown = await (await fetch(new URL('/v1/session/list', consul.url))).json();
        assert.ok(Array.isArray(sessions));
        assert.equal(sessions.length, 1);
        assert.ok(queries <= MOST_QUERIES, `${queries} blocking queries`);
        return { figures: { ledMs, queries, perSecond } };
      },
      [Symbol.asyncDispose]: async () => consul.stop(),
    };
  },
};
