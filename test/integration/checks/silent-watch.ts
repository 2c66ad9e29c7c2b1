/** An etcd server that hangs for watches alone, because its disk is frozen. */

import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkHistory, type HistoryEvent } from '@incumbent/conformance';
import { openEtcd } from '@incumbent/etcd';
import { ElectionObserver, Member, type Leadership, type Store } from 'incumbent';
import { requireFreezableDisk, startEtcdCluster, until, type EtcdCluster, type EtcdClusterServer } from '@incumbent/test-support';
import { historyOf, now } from '../history.ts';
import { onServer, type Check } from './check.ts';
import { ELECTION, freshNamespace, WAIT_MS, spawnMember, storeUrl, TTL_MS } from './pair.ts';

/** The longest time from the leader's end to the next leadership, in ms. */
const VACANCY_MS = TTL_MS + 5_000;
/** How long after the next election an observer may still show the former leader, in ms. */
const OBSERVER_MS = 15_000;
/** The longest shutdown with a handover: its own default limit, and a second. */
const SHUTDOWN_MS = (3 / 4 + 1 / 10) * TTL_MS + 1_000;

/** Opens a store that sends calls and watches to this server first, and that knows the others. */
async function openOn(server: EtcdClusterServer, cluster: EtcdCluster, namespace: string): Promise<Store> {
  const first = new URL(server.url).host;
  for (;;) {
    const used: string[] = [];
    const store = await openEtcd({
      endpoints: cluster.endpoints.map((url) => new URL(url).host),
      namespace,
      connect: (endpoint) => {
        used.push(`${endpoint.host}:${endpoint.port}`);
        return connect({ ...endpoint, noDelay: true });
      },
    });
    if (used[0] === first) return store;
    await store.close();
  }
}

/** A candidate in this process, and what it reported. */
class Candidate implements AsyncDisposable {
  readonly id: string;
  readonly events: HistoryEvent[] = [];
  readonly member: Member;
  readonly #store: Store;
  readonly #leading: Promise<unknown>;

  constructor(id: string, store: Store) {
    this.id = id;
    this.#store = store;
    this.member = new Member(store, { memberId: id, ttlMs: TTL_MS });
    this.#leading = this.member.election(ELECTION).lead((leadership) => this.#lead(leadership));
    // The promise rejects when the member is closed.
    this.#leading.catch(() => {});
  }

  get electedAt(): number | undefined {
    return this.events.find(({ type }) => type === 'elected')?.at;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.member.close();
    await this.#store.close();
    await this.#leading.catch(() => {});
  }

  async #lead({ term, ended }: Leadership): Promise<void> {
    const about = { election: ELECTION, member: this.id, term };
    this.events.push({ type: 'elected', at: now(), ...about });
    const { reason } = await ended;
    this.events.push({ type: 'ended', at: now(), ...about, reason });
  }
}

/** Resolves once another server leads the cluster. */
async function makeFollower(cluster: EtcdCluster, server: EtcdClusterServer): Promise<void> {
  while (cluster.servers[await cluster.leader()] === server) {
    await server.kill();
    await sleep(3_000);
    await server.restart();
  }
}

/** The leader among these candidates. Checks that the other one waits. */
async function electedOf(candidates: readonly Candidate[], what: string): Promise<Candidate> {
  return until(() => candidates.find(({ electedAt }) => electedAt !== undefined), { what, withinMs: WAIT_MS });
}

/** The leader is killed in runs with an even index, and resigns in the others. */
async function oneRun(cluster: EtcdCluster, index: number, random: () => number): Promise<Readonly<Record<string, number>>> {
  const [frozen, ...others] = cluster.servers;
  assert.ok(frozen !== undefined);
  await makeFollower(cluster, frozen);
  const namespace = freshNamespace();
  await using a = await spawnMember(
    storeUrl(
      others.map(({ url }) => url),
      namespace,
    ),
    'a',
  );
  await a.waitFor('elected', { withinMs: WAIT_MS });
  await using b = new Candidate('b', await openOn(frozen, cluster, namespace));
  await using c = new Candidate('c', await openOn(frozen, cluster, namespace));
  await using healthy = await openOn(frozen, cluster, namespace);
  await using observer = new ElectionObserver(healthy, ELECTION);
  const isReady = async (): Promise<boolean> => {
    const view = observer.current;
    const queue = await b.member.election(ELECTION).candidates();
    return queue.length === 3 && view.state === 'leader' && view.memberId === 'a';
  };
  await until(isReady, { what: 'two candidates that wait and an observer', withinMs: WAIT_MS });
  await sleep(random() * TTL_MS);
  await cluster.freezeDisk();
  try {
    const isCrash = index % 2 === 0;
    const endedAt = now();
    if (isCrash) a.sigkill();
    else a.sigterm();
    const next = await electedOf([b, c], 'the next leader');
    const vacancyMs = (next.electedAt ?? Infinity) - endedAt;
    const showsOld = (): boolean => {
      const view = observer.current;
      return view.state === 'leader' && view.memberId === 'a';
    };
    await until(() => !showsOld(), { what: 'the observer to show the leader before no longer', withinMs: WAIT_MS });
    const observerMs = Math.max(now() - (next.electedAt ?? 0), 0);
    const shutdownAt = now();
    await next.member.shutdown();
    const shutdownMs = now() - shutdownAt;
    const successor = await electedOf(
      [b, c].filter((candidate) => candidate !== next),
      'the leader after the shutdown',
    );
    const handoverMs = (successor.electedAt ?? Infinity) - shutdownAt;
    assert.ok(vacancyMs <= VACANCY_MS, `a vacancy of ${vacancyMs} ms`);
    assert.ok(observerMs <= OBSERVER_MS, `an observer showed the leader before for ${observerMs} ms`);
    assert.ok(shutdownMs <= SHUTDOWN_MS, `a shutdown of ${shutdownMs} ms`);
    assert.ok(handoverMs <= VACANCY_MS, `a handover of ${handoverMs} ms`);
    const died = isCrash ? [{ type: 'died' as const, at: endedAt, member: 'a' }] : [];
    const events = [...historyOf(a, 'a', ELECTION), ...b.events, ...c.events, ...died];
    assert.deepEqual(checkHistory(events, { unfinished: true }), []);
    return { [isCrash ? 'afterCrashMs' : 'afterResignationMs']: vacancyMs, observerMs, shutdownMs, handoverMs };
  } finally {
    await cluster.thawDisk();
    await until(() => frozen.ctl(['get', 'thawed']).then(() => true), { what: 'the thawed server to serve', withinMs: WAIT_MS });
  }
}

export const etcdSilentWatch: Check = {
  name: 'etcd-silent-watch',
  claim:
    `With the disk of one of three etcd servers frozen, the server goes on answering pings and its watches tell nothing: the next one leads within ttl + 5 s all the same, ` +
    `an observer no longer shows the leader before ${OBSERVER_MS / 1_000} s later, and a shutdown that hands over ends in time.`,
  method:
    `Three servers, ttl ${TTL_MS} ms. A process leads by way of two of them; two candidates and an observer have begun with the third, a follower, whose disk (ext4 on a loop device) is frozen ` +
    'with fsfreeze at a random phase. Then the leader is killed, or in every other run shuts down. afterCrash, afterResignation: from that to the next one leading; observer: from there until ' +
    'the observer shows the leader before no longer; shutdown: how long the shutdown of the next one takes; handover: from its begin to the other candidate leading.',
  runs: 20,
  parallel: 1,
  canRun: requireFreezableDisk,
  open: onServer(
    () => startEtcdCluster({ size: 3, freezable: true }),
    async (cluster, { random }, index) => ({ figures: await oneRun(cluster, index, random) }),
  ),
};
