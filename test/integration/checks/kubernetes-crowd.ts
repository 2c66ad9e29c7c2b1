/** What many members in one namespace cost an API server, next to client-go's election. */

import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { ClientRequest } from 'node:http';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { type KubernetesServer, programsOf, requireStore, spawnScript, until, type ScriptProcess } from '@incumbent/test-support';
import { Member, openStore, type Store } from 'incumbent';
import { onServer, type Check, type Figures } from './check.ts';
import { startKubernetesHost } from './kubernetes-host.ts';
import { ELECTION, freshNamespace, storeUrl, WAIT_MS } from './pair.ts';

const LOGGING = fileURLToPath(new URL('../logging.ts', import.meta.url));

const MEMBERS = 100;
const TTL_MS = 15_000;
/** Stores that are opened at the same time. */
const AT_ONCE = 20;
/** Four watches of 30 s. */
const WINDOW_MS = 120_000;
const CANDIDATES_IN_GO = 3;

/** The requests that this process sends, by kind. */
class Requests implements Disposable {
  renewals = 0;
  writes = 0;
  watches = 0;
  reads = 0;

  constructor() {
    subscribe('http.client.request.start', this.#onSent);
  }

  [Symbol.dispose](): void {
    unsubscribe('http.client.request.start', this.#onSent);
  }

  readonly #onSent = (message: unknown): void => {
    const request = typeof message === 'object' && message !== null && 'request' in message ? message.request : undefined;
    if (!(request instanceof ClientRequest)) return;
    const { method, path } = request;
    if (method === 'PUT' && path.includes('/leases/')) this.renewals += 1;
    else if (method !== 'GET') this.writes += 1;
    else if (path.includes('watch=true')) this.watches += 1;
    else this.reads += 1;
  };
}

async function openStores(url: string): Promise<readonly Store[]> {
  const stores: Store[] = [];
  while (stores.length < MEMBERS) stores.push(...(await Promise.all(Array.from({ length: AT_ONCE }, () => openStore(url)))));
  return stores;
}

/** The bytes of the names and texts in the object with the keys. */
async function bytesOf(server: KubernetesServer, path: string): Promise<number> {
  const { body } = await server.call('GET', path);
  assert.ok(typeof body === 'object' && body !== null && 'data' in body && typeof body.data === 'object' && body.data !== null);
  return Object.entries(body.data).reduce((bytes, [name, text]) => bytes + name.length + Buffer.byteLength(String(text)), 0);
}

/** What a hundred members cost, each with a store of its own. */
async function crowd(server: KubernetesServer): Promise<Figures> {
  const prefix = freshNamespace();
  await using opened = new AsyncDisposableStack();
  const stores = await openStores(storeUrl([server.url], prefix, 'kubernetes'));
  opened.defer(async () => void (await Promise.all(stores.map((store) => store.close()))));
  const members = stores.map((store, index) => new Member(store, { memberId: `m${index}`, ttlMs: TTL_MS }));
  opened.defer(async () => void (await Promise.all(members.map((member) => member.close()))));
  let losses = 0;
  const elections = members.map((member) => member.election(ELECTION, { onEnded: () => (losses += 1) }));
  const [election] = elections;
  assert.ok(election !== undefined);
  const startedAt = performance.now();
  for (const each of elections) void each.campaign().catch(() => {});
  await until(async () => (await election.candidates()).length === MEMBERS, {
    what: 'all have joined',
    withinMs: 6 * WAIT_MS,
    everyMs: 250,
  });
  const joinedMs = performance.now() - startedAt;
  await sleep(2 * TTL_MS);
  using sent = new Requests();
  await sleep(WINDOW_MS);
  assert.equal(losses, 0, 'a leadership ended');
  const perHour = (count: number): number => Math.round((count / MEMBERS / WINDOW_MS) * 3_600_000);
  const { renewals, writes, watches, reads } = sent;
  return {
    members: MEMBERS,
    joinedMs,
    perMemberHour: perHour(renewals + writes + watches + reads),
    renewals: perHour(renewals),
    writes: perHour(writes),
    watches: perHour(watches),
    reads: perHour(reads),
    objectBytes: await bytesOf(server, `/apis/test.incumbent.example/v1/namespaces/default/configmaps/${prefix}`),
  };
}

/** The requests on Leases that the server has answered, by verb. */
async function servedLeases(server: KubernetesServer): Promise<{ readonly writes: number; readonly reads: number }> {
  const { body } = await server.call('GET', '/metrics');
  let [writes, reads] = [0, 0];
  for (const line of String(body).split('\n')) {
    const [, labels = '', count] = /^apiserver_request_total\{(.*)\} (\S+)$/.exec(line) ?? [];
    if (count === undefined || !labels.includes('resource="leases"')) continue;
    if (labels.includes('verb="GET"')) reads += Number(count);
    else writes += Number(count);
  }
  return { writes, reads };
}

/** What one leader and a few candidates of client-go cost, with the times of Kubernetes' own components. */
async function inGo(server: KubernetesServer): Promise<Figures> {
  const program = `${await programsOf('kubernetes')}/client-go`;
  await using stack = new AsyncDisposableStack();
  const start = async (name: string): Promise<ScriptProcess> => {
    const args = [program, `-identity=${name}`, '-namespace=crowd', '-every=1h'];
    return stack.use(await spawnScript(LOGGING, { args, env: { KUBECONFIG: server.kubeconfig } }));
  };
  const leader = await start('leader');
  await leader.waitFor(({ event, fields }) => event === 'line' && fields['text'] === 'reconciles', { withinMs: WAIT_MS });
  for (let index = 0; index < CANDIDATES_IN_GO; index += 1) await start(`candidate-${index}`);
  await sleep(TTL_MS);
  const before = await servedLeases(server);
  await sleep(WINDOW_MS);
  const after = await servedLeases(server);
  const perHour = (count: number): number => Math.round((count / WINDOW_MS) * 3_600_000);
  return { goLeader: perHour(after.writes - before.writes), goCandidate: perHour((after.reads - before.reads) / CANDIDATES_IN_GO) };
}

export const kubernetesCrowd: Check = {
  name: 'kubernetes-crowd',
  claim: `${MEMBERS} members of one election in one namespace make no more requests each than a leader of client-go does.`,
  method:
    `${MEMBERS} members in one process, each with a store of its own, campaign in one election at the same moment, with a ttl of ${TTL_MS / 1_000} s. joined: until all are in the queue. ` +
    `perMemberHour: the requests to the API server in ${WINDOW_MS / 1_000} s of peace, as requests of one member per hour; renewals, other writes, watches and reads are its parts. ` +
    `objectBytes: all keys. goLeader and goCandidate: requests per hour of a leader and of each of ${CANDIDATES_IN_GO} candidates of client-go with its usual times, as the server counts them.`,
  runs: 1,
  parallel: 1,
  canRun: () => requireStore({ store: 'kubernetes', own: true }),
  open: onServer(startKubernetesHost, async (server) => {
    const go = await inGo(server);
    const figures = await crowd(server);
    const { perMemberHour } = figures;
    assert.ok(perMemberHour !== undefined && go['goLeader'] !== undefined && perMemberHour <= go['goLeader']);
    return { figures: { ...figures, ...go } };
  }),
};
