/** A leader that is stopped or cut off in the middle of its own transaction in PostgreSQL. */

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { requireStore, spawnScript, startPostgres, startProxy, type PostgresServer, type ScriptProcess } from '@incumbent/test-support';
import { now } from '../history.ts';
import { onServer, type Check, type Figures } from './check.ts';
import { at, freshNamespace, WAIT_MS } from './pair.ts';

const WRITER = new URL('../guarded-writer.ts', import.meta.url);
const TTL_MS = 2_000;
const OPEN_MS = 400;
const FENCES = ['guard', 'advisory'] as const;
type FencedBy = (typeof FENCES)[number];

const TABLES = [
  'create table elected (term bigserial, namespace text not null)',
  'create table written (namespace text not null, term bigint not null)',
];

/** When the newest term was committed, by the row that its claim wrote. */
const NEWEST: Readonly<Record<FencedBy, string>> = {
  guard: `select k.xmin from incumbent.keys k join incumbent.namespaces n on n.id = k.namespace
    where n.name = '@' and k.key = 'elections/writer/term'`,
  advisory: `select e.xmin from elected e where e.namespace = '@' order by e.term desc limit 1`,
};

async function start(): Promise<PostgresServer> {
  const server = await startPostgres({ settings: { track_commit_timestamp: 'on' } });
  await server.ctl(TABLES.flatMap((table) => ['-c', table]));
  return server;
}

/** The commits of older terms after the newest term was committed. */
async function staleCommits(server: PostgresServer, namespace: string, by: FencedBy, newest: bigint): Promise<number> {
  const sql = `select count(*) from written w where w.namespace = '@' and w.term < ${newest}
    and pg_xact_commit_timestamp(w.xmin) > (select pg_xact_commit_timestamp(c.xmin) from (${NEWEST[by]}) c)`;
  return Number(await server.ctl(['-c', sql.replaceAll('@', namespace)]));
}

function spawnWriter(url: string, namespace: string, memberId: string, by: FencedBy): Promise<ScriptProcess> {
  return spawnScript(WRITER, { args: [url, namespace, memberId, by, String(TTL_MS), String(OPEN_MS)] });
}

interface Round {
  readonly stale: number;
  readonly electedMs: number;
}

async function round(server: PostgresServer, by: FencedBy, fault: 'stop' | 'cut', random: () => number): Promise<Round> {
  const namespace = freshNamespace();
  await using proxy = await startProxy(server.url);
  const throughProxy = Object.assign(new URL(server.url), { port: String(proxy.port) }).href;
  await using a = await spawnWriter(throughProxy, namespace, 'a', by);
  await a.waitFor('elected', { withinMs: WAIT_MS });
  await using b = await spawnWriter(server.url, namespace, 'b', by);
  // Committed once: the second process has had time to join.
  await a.waitFor('committed', { withinMs: WAIT_MS });
  const from = a.events.length;
  await a.waitFor('open', { withinMs: WAIT_MS, from });
  await sleep((random() * OPEN_MS) / 2);
  const cutAt = now();
  if (fault === 'stop') a.sigstop();
  else proxy.stall();
  const elected = await b.waitFor('elected', { withinMs: WAIT_MS });
  await b.waitFor('committed', { withinMs: WAIT_MS });
  const seen = a.events.length;
  a.sigcont();
  await proxy.heal({ reset: false });
  // Its transaction ends now, one way or the other.
  await a.waitFor(({ event }) => event === 'committed' || event === 'refused', {
    withinMs: WAIT_MS,
    from: Math.min(seen, a.events.length),
  });
  const stale = await staleCommits(server, namespace, by, BigInt(String(elected.fields['term'])));
  return { stale, electedMs: at(elected) - cutAt };
}

export const postgresFence: Check = {
  name: 'postgres-fence',
  claim: "A leader that is stopped or cut off in the middle of its own guarded transaction never commits it after another's claim.",
  method:
    `Two processes, ttl ${TTL_MS} ms, on one PostgreSQL. The leader writes rows in transactions that stay open for ${OPEN_MS} ms and begin with \`sqlGuard\`. At a random phase of a transaction it is stopped ` +
    '(SIGSTOP), or in every other run everything between it and the server is held back. When the next leader has committed a row, it goes on. stale: commits of the older term after the commit of the ' +
    'newer claim, by the commit timestamps of the server. electedMs: from the fault to the next leader. advisoryStale, advisoryElectedMs: the same for leaders that hold an advisory lock on a ' +
    'session, which the server ends when it is idle for longer than the ttl.',
  runs: 100,
  parallel: 4,
  canRun: () => requireStore({ store: 'postgres', own: true }),
  open: onServer(start, async (server, { random }, index) => {
    const fault = index % 2 === 0 ? 'stop' : 'cut';
    const guarded = await round(server, 'guard', fault, random);
    const advisory = await round(server, 'advisory', fault, random);
    assert.equal(guarded.stale, 0, 'the older term committed after the newer claim');
    const figures: Figures = {
      stale: guarded.stale,
      electedMs: guarded.electedMs,
      advisoryStale: advisory.stale,
      advisoryElectedMs: advisory.electedMs,
    };
    return { figures };
  }),
};
