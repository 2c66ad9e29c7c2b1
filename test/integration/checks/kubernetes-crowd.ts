/** What many members in one namespace cost an API server, next to client-go's election. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type KubernetesServer, programsOf, requireStore, spawnScript, until, type ScriptProcess } from '@incumbent/test-support';
import { onServer, type Check, type Figures } from './check.ts';
import { startKubernetesHost } from './kubernetes-host.ts';
import { freshNamespace, storeUrl, WAIT_MS } from './pair.ts';

const MEMBER = new URL('../crowd-member.ts', import.meta.url);
const BUNDLE = fileURLToPath(new URL('../../../scripts/bundle.ts', import.meta.url));
const LOGGING = fileURLToPath(new URL('../logging.ts', import.meta.url));

const MEMBERS = 100;
const TTL_MS = 15_000;
/** Processes that start at the same time. */
const AT_ONCE = 5;
/** Four watches of 30 s. */
const WINDOW_MS = 120_000;
const CANDIDATES_IN_GO = 3;

interface Served {
  readonly renewals: number;
  readonly writes: number;
  readonly watches: number;
  readonly reads: number;
  /** Of the above, those that were refused because somebody else had changed the object. */
  readonly conflicts: number;
}

/** The requests on Leases and on the objects with the keys that the server has answered so far. */
async function served(server: KubernetesServer): Promise<Served> {
  const { body } = await server.call('GET', '/metrics');
  const counts = { renewals: 0, writes: 0, watches: 0, reads: 0, conflicts: 0 };
  for (const line of String(body).split('\n')) {
    const [, labels = '', text] = /^apiserver_request_total\{(.*)\} (\S+)$/.exec(line) ?? [];
    const {
      verb = '',
      resource = '',
      code = '',
    } = Object.fromEntries([...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name, value]));
    if (text === undefined || (resource !== 'leases' && resource !== 'configmaps')) continue;
    const count = Number(text);
    if (verb === 'WATCH') counts.watches += count;
    else if (verb === 'GET' || verb === 'LIST') counts.reads += count;
    else if (verb === 'PUT' && resource === 'leases') counts.renewals += count;
    else counts.writes += count;
    if (code === '409') counts.conflicts += count;
  }
  return counts;
}

function between(before: Served, after: Served): Served {
  return {
    renewals: after.renewals - before.renewals,
    writes: after.writes - before.writes,
    watches: after.watches - before.watches,
    reads: after.reads - before.reads,
    conflicts: after.conflicts - before.conflicts,
  };
}

const all = ({ renewals, writes, watches, reads }: Served): number => renewals + writes + watches + reads;

/** The bytes of the names and texts in the object with the keys. */
async function bytesOf(server: KubernetesServer, path: string): Promise<number> {
  const { body } = await server.call('GET', path);
  assert.ok(typeof body === 'object' && body !== null && 'data' in body && typeof body.data === 'object' && body.data !== null);
  return Object.entries(body.data).reduce((bytes, [name, text]) => bytes + name.length + Buffer.byteLength(String(text)), 0);
}

const has = (script: ScriptProcess, event: string): boolean => script.events.some((one) => one.event === event);

async function crowd(server: KubernetesServer): Promise<Figures> {
  const prefix = freshNamespace();
  const url = storeUrl([server.url], prefix, 'kubernetes');
  await using stack = new AsyncDisposableStack();
  const members: ScriptProcess[] = [];
  const add = async (name: string): Promise<void> => {
    const script = stack.use(await spawnScript(MEMBER, { args: [url, name, String(TTL_MS)], built: true, nice: 5 }));
    members.push(script);
    await script.waitFor('ready', { withinMs: 2 * WAIT_MS });
  };
  for (let from = 0; from < MEMBERS; from += AT_ONCE)
    await Promise.all(Array.from({ length: AT_ONCE }, (_, index) => add(`m${from + index}`)));

  const idle = await served(server);
  const startedAt = performance.now();
  for (const member of members) member.sigusr2();
  const isIn = (member: ScriptProcess): boolean => has(member, 'waiting') || has(member, 'elected');
  await until(() => members.every(isIn), { what: 'all have joined', withinMs: 6 * WAIT_MS });
  const joinedMs = performance.now() - startedAt;
  const joining = between(idle, await served(server));

  await sleep(2 * TTL_MS);
  const before = await served(server);
  await sleep(WINDOW_MS);
  const inPeace = between(before, await served(server));
  assert.equal(members.filter((member) => has(member, 'ended')).length, 0, 'a leadership ended');
  assert.equal(members.filter((member) => has(member, 'elected')).length, 1, 'one member has led');

  const perHour = (count: number): number => Math.round((count / MEMBERS / WINDOW_MS) * 3_600_000);
  return {
    members: MEMBERS,
    joinedMs,
    joinRequests: all(joining) / MEMBERS,
    joinConflicts: joining.conflicts / MEMBERS,
    perMemberHour: perHour(all(inPeace)),
    renewals: perHour(inPeace.renewals),
    writes: perHour(inPeace.writes),
    watches: perHour(inPeace.watches),
    reads: perHour(inPeace.reads),
    objectBytes: await bytesOf(server, `/apis/test.incumbent.example/v1/namespaces/default/configmaps/${prefix}`),
  };
}

/**
 * What one leader and a few candidates of client-go cost, with the times of Kubernetes' own
 * components.
 */
async function inGo(server: KubernetesServer): Promise<Figures> {
  const program = `${await programsOf('kubernetes')}/client-go`;
  await using stack = new AsyncDisposableStack();
  const start = async (name: string): Promise<ScriptProcess> => {
    const args = [program, `-identity=${name}`, '-namespace=crowd', '-every=1h'];
    return stack.use(await spawnScript(LOGGING, { args, env: { KUBECONFIG: server.kubeconfig } }));
  };
  const perHour = (requests: Served): number => Math.round((all(requests) / WINDOW_MS) * 3_600_000);
  const leader = await start('leader');
  await leader.waitFor(({ event, fields }) => event === 'line' && fields['text'] === 'reconciles', { withinMs: WAIT_MS });
  await sleep(TTL_MS);
  const before = await served(server);
  await sleep(WINDOW_MS);
  const alone = await served(server);
  for (let index = 0; index < CANDIDATES_IN_GO; index += 1) await start(`candidate-${index}`);
  await sleep(TTL_MS);
  const joined = await served(server);
  await sleep(WINDOW_MS);
  const goLeader = perHour(between(before, alone));
  const goCandidate = Math.round((perHour(between(joined, await served(server))) - goLeader) / CANDIDATES_IN_GO);
  return { goLeader, goCandidate };
}

export const kubernetesCrowd: Check = {
  name: 'kubernetes-crowd',
  claim: `${MEMBERS} members of one election in one namespace make no more requests each than a leader of client-go does.`,
  method:
    `${MEMBERS} processes of one member each campaign in one election at the same moment, with a ttl of ${TTL_MS / 1_000} s. joinedMs: from that moment until all are in the queue; joinRequests, joinConflicts: requests of each ` +
    `until then, and those among them that were refused because another process had changed the object. perMemberHour: the requests in ${WINDOW_MS / 1_000} s of peace, as requests of one member per hour; renewals, other writes, watches and reads are its parts. ` +
    `objectBytes: all keys. goLeader and goCandidate: requests per hour of a leader and of each of ${CANDIDATES_IN_GO} candidates of client-go with its usual times. The server counts all requests.`,
  runs: 1,
  parallel: 1,
  canRun: () => requireStore({ store: 'kubernetes', own: true }),
  open: onServer(
    async () => {
      // A hundred processes start. From the sources, that would take most of the time.
      execFileSync(process.execPath, [BUNDLE]);
      return startKubernetesHost();
    },
    async (server) => {
      const figures = { ...(await crowd(server)), ...(await inGo(server)) };
      const { perMemberHour, goLeader } = figures;
      assert.ok(perMemberHour !== undefined && goLeader !== undefined && perMemberHour <= goLeader);
      return { figures };
    },
  ),
};
