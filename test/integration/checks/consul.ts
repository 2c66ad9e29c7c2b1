/** Claims about Consul only. */

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkHistory } from '@incumbent/conformance';
import { Member, openStore } from 'incumbent';
import { startConsul, startConsulCluster, until, type ScriptProcess } from '@incumbent/test-support';
import { historyOf, now } from '../history.ts';
import { HttpRequests } from '../http-requests.ts';
import { onServer, type Check } from './check.ts';
import { consulHost } from './hosts.ts';
import { at, ELECTION, freshNamespace, lastValid, WAIT_MS, spawnMember, storeUrl } from './pair.ts';

/** The ttl of sessions that are bound to checks, in ms. */
const SHORT_TTL_MS = 2_000;
const FAILOVER_MS = 2_500;
/** Long, because an agent needs seconds to find its servers again. */
const LONG_TTL_MS = 15_000;

/** Reads in a row, 200 ms apart. */
const STEADY_LOOKS = 10;

const ELECTIONS = 1_000;
const MOST_QUERIES = 64;

async function queued(url: string, namespace: string, memberId: string): Promise<void> {
  const prefix = `${namespace}/elections/${ELECTION}/candidates/${memberId}~`;
  const look = async (): Promise<true | undefined> => ((await consulHost.hasKey({ ...NOBODY, url }, prefix)) ? true : undefined);
  await until(look, { what: `${memberId} is in the queue`, withinMs: WAIT_MS });
}

const NOBODY = { endpoints: [], version: '', ctl: () => Promise.reject(new Error('nobody')) };

async function closeBoth(a: ScriptProcess, b: ScriptProcess): Promise<void> {
  for (const member of [a, b]) member.sigterm();
  await Promise.all([a, b].map((member) => member.waitFor('closed', { withinMs: WAIT_MS })));
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
  open: onServer(
    () => startConsul(),
    async (consul, { random }) => {
      const namespace = freshNamespace();
      const url = storeUrl([consul.url], namespace, 'consul');
      await using a = await spawnMember(url, 'a', SHORT_TTL_MS);
      await a.waitFor('elected', { withinMs: WAIT_MS });
      await using b = await spawnMember(url, 'b', SHORT_TTL_MS);
      await queued(consul.url, namespace, 'b');
      await sleep(random() * SHORT_TTL_MS);
      const killedAt = now();
      a.sigkill();
      const elected = await b.waitFor('elected', { withinMs: WAIT_MS });
      const failoverMs = at(elected) - killedAt;
      assert.ok(failoverMs < FAILOVER_MS, `it took ${failoverMs} ms`);
      return { figures: { failoverMs } };
    },
  ),
};

/**
 * After a partition heals, an agent may find its servers and lose them again until gossip has
 * settled.
 */
async function servesSteadily(agent: string): Promise<void> {
  let inARow = 0;
  const looks = async (): Promise<true | undefined> => {
    const answer = await fetch(new URL('/v1/catalog/nodes?consistent', agent), { signal: AbortSignal.timeout(2_000) }).catch(
      () => undefined,
    );
    inARow = answer?.ok === true ? inARow + 1 : 0;
    return inARow === STEADY_LOOKS || undefined;
  };
  await until(looks, { what: 'the agent serves', withinMs: WAIT_MS, everyMs: 200 });
}

export const consulAgentCutOff: Check = {
  name: 'consul-agent-cut-off',
  claim:
    "When a leader's agent is cut off from the servers, and goes on acknowledging that the leader's check is passed, that leader stops considering itself leader before the next one leads.",
  method:
    `A server and an agent; one process, ttl ${SHORT_TTL_MS} ms, on the agent, leads; another is on the server. Nothing passes between agent and server from a random phase on. margin: from the ` +
    'last isValid() that was true (asked every 5 ms) to the moment at which the next one is told that it leads; failover: to there from the cut.',
  runs: 20,
  parallel: 1,
  open: async () => {
    const cluster = await startConsulCluster({ size: 1, agents: 1, gated: true });
    const agent = cluster.agents[0]?.url ?? '';
    return {
      run: async (_index, { random }) => {
        await servesSteadily(agent);
        const namespace = freshNamespace();
        await using a = await spawnMember(storeUrl([agent], namespace, 'consul'), 'a', SHORT_TTL_MS);
        await a.waitFor('elected', { withinMs: WAIT_MS });
        await using b = await spawnMember(storeUrl([cluster.url], namespace, 'consul'), 'b', SHORT_TTL_MS);
        await queued(cluster.url, namespace, 'b');
        await sleep(random() * SHORT_TTL_MS);
        const cutAt = now();
        cluster.cutOff();
        const elected = await b.waitFor('elected', { withinMs: WAIT_MS });
        const marginMs = at(elected) - lastValid(a, 1n);
        assert.ok(marginMs > 0, `two leaders for ${-marginMs} ms`);
        await cluster.heal();
        await closeBoth(a, b);
        return { figures: { marginMs, failoverMs: at(elected) - cutAt } };
      },
      [Symbol.asyncDispose]: async () => cluster.stop(),
    };
  },
};

export const consulAgentRestart: Check = {
  name: 'consul-agent-restart',
  claim:
    "When a leader's agent is killed (kill -9) and started again on its data within the ttl, that leader leads on, and nobody else is elected.",
  method:
    `A server and an agent; one process, ttl ${LONG_TTL_MS} ms, on the agent, leads; another is on the server. Watched until a ttl and a half after the agent is back. away: from the kill to the agent's serving again; ` +
    'silent: the longest time between two answers of isValid() that were true (asked every 5 ms).',
  runs: 10,
  parallel: 1,
  open: async () => {
    const cluster = await startConsulCluster({ size: 1, agents: 1 });
    const [agent] = cluster.agents;
    assert.ok(agent !== undefined);
    return {
      run: async (_index, { random }) => {
        await servesSteadily(agent.url);
        const namespace = freshNamespace();
        await using a = await spawnMember(storeUrl([agent.url], namespace, 'consul'), 'a', LONG_TTL_MS);
        await a.waitFor('elected', { withinMs: WAIT_MS });
        await using b = await spawnMember(storeUrl([cluster.url], namespace, 'consul'), 'b', LONG_TTL_MS);
        await queued(cluster.url, namespace, 'b');
        await sleep((random() * LONG_TTL_MS) / 3);
        const killedAt = now();
        await agent.restart();
        await servesSteadily(agent.url);
        const awayMs = now() - killedAt;
        await sleep(1.5 * LONG_TTL_MS);
        assert.deepEqual(
          [...a.events, ...b.events].filter(({ event }) => event === 'ended' || event === 'failed'),
          [],
        );
        assert.equal(
          b.events.some(({ event }) => event === 'elected'),
          false,
          'another was elected',
        );
        const validAt = a.events.filter(({ event }) => event === 'valid').map(at);
        const silentMs = Math.max(...validAt.slice(1).map((instant, i) => instant - (validAt[i] ?? instant)));
        await closeBoth(a, b);
        return { figures: { awayMs, silentMs } };
      },
      [Symbol.asyncDispose]: async () => cluster.stop(),
    };
  },
};

export const consulMany: Check = {
  name: 'consul-many',
  claim: `A process that leads ${ELECTIONS} elections on Consul has one session, and ${MOST_QUERIES} blocking queries at the most.`,
  method:
    'One member, ttl 10 s, on its own agent leads all. led: until it leads them all; sessions: as Consul lists them; queries: the most blocking queries without an answer at a time, by `node:http`’s own word; perSecond: requests ' +
    'in the 10 s after, renewals left out.',
  runs: 1,
  parallel: 1,
  open: onServer(
    () => startConsul(),
    async (consul) => {
      using requests = new HttpRequests();
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
      return { figures: { ledMs, sessions: sessions.length, queries, perSecond } };
    },
  ),
};
