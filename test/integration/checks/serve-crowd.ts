/** The cost of a thousand clients of one `incumbent serve`. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Etcd, startEtcd, until } from '@incumbent/test-support';
import { receivedMessages } from '../etcd-metrics.ts';
import { type ServeProcess, startServe } from '../serve-clients.ts';
import { Crowd, type CrowdClient } from '../sse-crowd.ts';
import { type Check, type Figures, onServer } from './check.ts';
import { freshNamespace, storeUrl } from './pair.ts';

const CLIENTS = 1_000;
const WATCHED_S = 20;
const CHANGES = 10;
/** Requests one after the other. */
const ALONE = 500;
const WAIT_MS = 120_000;
/** A sidecar with a thousand clients may send so many more requests per second than with one. */
const MORE_PER_SECOND = 0.5;
const MAX_RSS_MIB = 400;
/** What /proc/PID/stat counts in. */
const MS_PER_TICK = 10;

export const serveCrowd: Check = {
  name: 'serve-crowd',
  claim: `${CLIENTS.toLocaleString('en')} candidacies with ${CLIENTS.toLocaleString('en')} event streams at one \`incumbent serve\` cost the store what one member costs it.`,
  method:
    `One sidecar on one etcd, everything by default. First one candidacy with its stream; then ${CLIENTS}, in odd runs all in one election, and in even runs each in an election of its own, which it leads. For ${WATCHED_S} s each candidacy asks once a second. ` +
    'onePerSecond, perSecond: all messages that etcd receives from one candidacy, and from all, by its own count, renewals and watches included; leases: of etcd. idleMiB, rssMiB: resident memory of the sidecar without and with them. ' +
    `cpuMs: processor time of the sidecar for one answer; answerMs: from a request to its answer, the median of ${ALONE} requests one after the other while all streams are open; ` +
    'joinedMs: until all streams are open; medianMs, p99Ms, slowestMs: the same when each candidacy asks once a second, all in one process on the same machine. ' +
    `nextMs: in one election, from the request of the leader to resign to the event that the next client is elected, the median of ${CHANGES}.`,
  runs: 4,
  parallel: 1,
  open: onServer(
    () => startEtcd(),
    async (etcd, _context, index) => {
      await using sidecar = await startServe(storeUrl([etcd.url], freshNamespace()), 'crowd');
      return { figures: await measure(etcd, sidecar, index % 2 === 0) };
    },
  ),
};

async function measure(etcd: Etcd, sidecar: ServeProcess, inOne: boolean): Promise<Figures> {
  await using crowd = new Crowd(sidecar.url);
  const first = await crowd.join('e-0', 'c-0');
  await until(() => first.electedAt.size > 0, { what: 'the first candidacy leads', withinMs: WAIT_MS });
  const idleMiB = rssMiB(sidecar.process.pid);
  const [onePerSecond] = await Promise.all([messagesPerSecond(etcd, WATCHED_S), crowd.ask(WATCHED_S)]);
  const startedAt = performance.now();
  for (let from = 1; from < CLIENTS; from += 50) {
    const indexes = Array.from({ length: Math.min(50, CLIENTS - from) }, (_, offset) => from + offset);
    await Promise.all(indexes.map(async (index) => crowd.join(inOne ? 'e-0' : `e-${index}`, `c-${index}`)));
  }
  const joinedMs = performance.now() - startedAt;
  const leaders = inOne ? 1 : CLIENTS;
  const led = (): boolean => crowd.clients.filter(({ electedAt }) => electedAt.size > 0).length === leaders;
  await until(led, { what: `${leaders} candidacies lead`, withinMs: WAIT_MS });
  await sleep(3_000);
  const cpuBefore = cpuMs(sidecar.process.pid);
  const [perSecond, times] = await Promise.all([messagesPerSecond(etcd, WATCHED_S), crowd.ask(WATCHED_S)]);
  const leases = (await etcd.ctl(['lease', 'list'])).trim().split('\n').length - 1;
  const at = (part: number): number => times[Math.min(Math.floor(times.length * part), times.length - 1)] ?? Infinity;
  const cost = { onePerSecond, perSecond, leases, idleMiB, rssMiB: rssMiB(sidecar.process.pid), joinedMs };
  const latency = {
    cpuMs: (cpuMs(sidecar.process.pid) - cpuBefore) / times.length,
    answerMs: await answerMs(crowd, first),
    medianMs: at(0.5),
    p99Ms: at(0.99),
    slowestMs: at(1),
  };
  assert.equal(leases, 1);
  assert.ok(perSecond <= onePerSecond + MORE_PER_SECOND, `${perSecond} messages per second, and ${onePerSecond} with one candidacy`);
  assert.ok(cost.rssMiB <= MAX_RSS_MIB, `the sidecar takes ${cost.rssMiB} MiB`);
  assert.equal(crowd.brokenStreams, 0);
  return { ...cost, ...latency, ...(inOne ? { nextMs: await nextMs(crowd) } : {}) };
}

/** The median time of requests one after the other. */
async function answerMs(crowd: Crowd, { path, secret }: CrowdClient): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < ALONE; i += 1) {
    const askedAt = performance.now();
    await crowd.call('GET', path, secret);
    times.push(performance.now() - askedAt);
  }
  return times.toSorted((a, b) => a - b)[ALONE / 2] ?? Infinity;
}

async function messagesPerSecond(etcd: Etcd, seconds: number): Promise<number> {
  const before = await receivedMessages(etcd.url);
  await sleep(seconds * 1_000);
  return ((await receivedMessages(etcd.url)) - before) / seconds;
}

/** The median time from a resignation to the event that the next client is elected. */
async function nextMs(crowd: Crowd): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < CHANGES; i += 1) {
    const { client, term } = leaderOf(crowd.clients);
    const resignedAt = performance.now();
    const { status, body } = await crowd.call('POST', `${client.path}/resign`, client.secret, { term });
    assert.equal(status, 200, JSON.stringify(body));
    const next = await until(() => crowd.clients.flatMap(({ electedAt }) => [...electedAt]).find(([each]) => BigInt(each) > BigInt(term)), {
      what: `a leader after term ${term}`,
      withinMs: WAIT_MS,
    });
    times.push(next[1] - resignedAt);
  }
  return times.toSorted((a, b) => a - b)[Math.floor(CHANGES / 2)] ?? Infinity;
}

function leaderOf(clients: readonly CrowdClient[]): { readonly client: CrowdClient; readonly term: string } {
  const terms = clients.flatMap((client) => [...client.electedAt.keys()].map((term) => ({ client, term })));
  const newest = terms.toSorted((a, b) => Number(BigInt(b.term) - BigInt(a.term)))[0];
  if (newest === undefined) throw new TypeError('nobody has led');
  return newest;
}

function rssMiB(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024;
}

/** The processor time of a process so far. */
function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK;
}
