/**
 * Measures how soon the next leader starts after a leader with a reaper was killed, and the
 * reaper's memory.
 */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkHistory, type HistoryEvent } from '@incumbent/conformance';
import { makeScratch, spawnScript, type ScriptProcess } from '@incumbent/test-support';
import { historyOf, now } from '../history.ts';
import type { Check } from './check.ts';
import { consulHost, etcdHost, postgresHost, redisHost, zookeeperHost, type Host } from './hosts.ts';
import { kubernetesHost } from './kubernetes-host.ts';
import { at, ELECTION, freshNamespace, WAIT_MS, spawnMember, storeUrl } from './pair.ts';

const TTL_MS = 10_000;
const MEDIAN_MS = 150;
const LONGEST_MS = 500;

interface StartedMember {
  readonly id: string;
  readonly script: ScriptProcess;
  died?: number;
}

/** Keeps two members running, each with a reaper: starts another one after a kill. */
class MemberPair {
  readonly #url: string;
  readonly #all: StartedMember[] = [];

  constructor(url: string) {
    this.#url = url;
  }

  get #alive(): readonly StartedMember[] {
    return this.#all.filter(({ died }) => died === undefined);
  }

  /** Resolves when one member leads, the other waits, and both have reapers. */
  async complete(): Promise<void> {
    while (this.#alive.length < 2) {
      const id = `m${this.#all.length}`;
      const script = await spawnMember(this.#url, id, TTL_MS, 0, { reaper: true });
      this.#all.push({ id, script });
      await script.waitFor('reaperReady', { withinMs: WAIT_MS });
      if (this.#alive.length === 1) await script.waitFor('elected', { withinMs: WAIT_MS });
    }
    // No event reports that the member has joined the queue; it joins right after the session
    // opens.
    await sleep(1_000);
  }

  /** Resolves with the time from before the kill to the other member's election, in ms. */
  async killLeader(): Promise<number> {
    const [leader, next] = this.#alive;
    assert.ok(leader !== undefined && next !== undefined);
    assert.equal(leader.script.events.at(-1)?.event, 'valid', 'the first one leads');
    const killedAt = now();
    leader.script.sigkill();
    const nextMs = at(await next.script.waitFor('elected', { withinMs: WAIT_MS })) - killedAt;
    await leader.script.exited;
    leader.died = killedAt;
    return nextMs;
  }

  check(): void {
    const events = this.#all.flatMap(({ id, script, died }): readonly HistoryEvent[] => [
      ...historyOf(script, id, ELECTION),
      ...(died === undefined ? [] : [{ type: 'died' as const, at: died, member: id }]),
    ]);
    assert.deepEqual(checkHistory(events, { unfinished: true }), []);
  }

  async stop(): Promise<void> {
    await Promise.all(this.#all.map(({ script }) => script[Symbol.asyncDispose]()));
  }
}

const METHOD =
  `Two processes with a reaper each, ttl ${TTL_MS} ms; the one that leads is killed at a random moment, and replaced. next: from the moment before the kill to the ` +
  'other one being told that it leads. Each leader has a reaper of its own, which does this once.';

interface OpenedStore extends AsyncDisposable {
  readonly url: string;
}

function reaperCheck(store: string, place: () => Promise<OpenedStore>): Check {
  const times: number[] = [];
  return {
    name: `reaper-${store}`,
    claim: `On ${store} a leader that is killed (kill -9) is followed within ${MEDIAN_MS} ms in the median and ${LONGEST_MS} ms at the most, at a ttl of ${TTL_MS / 1_000} s.`,
    method: METHOD,
    runs: 20,
    parallel: 1,
    open: async () => {
      const opened = await place();
      const pair = new MemberPair(opened.url);
      return {
        run: async (_index, { random, isTimed }) => {
          await pair.complete();
          await sleep(random() * 1_000);
          const nextMs = await pair.killLeader();
          pair.check();
          times.push(nextMs);
          assert.ok(nextMs < (isTimed ? LONGEST_MS : TTL_MS / 2), `the next one led after ${nextMs} ms`);
          const median = times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;
          assert.ok(!isTimed || times.length < 20 || median < MEDIAN_MS, `the median is ${median} ms`);
          return { figures: { nextMs } };
        },
        [Symbol.asyncDispose]: async () => {
          await pair.stop();
          await opened[Symbol.asyncDispose]();
        },
      };
    },
  };
}

/** Starts a store of each kind, for the time of a check. */
const places: Readonly<Record<Host['store'] | 'sqlite', () => Promise<OpenedStore>>> = {
  consul: () => placeOn(consulHost),
  etcd: () => placeOn(etcdHost),
  kubernetes: () => placeOn(kubernetesHost),
  postgres: () => placeOn(postgresHost),
  redis: () => placeOn(redisHost),
  sqlite: async () => {
    const folder = await makeScratch('reaper');
    return { url: `sqlite:${folder.path}/state.db`, [Symbol.asyncDispose]: () => folder.remove() };
  },
  zookeeper: () => placeOn(zookeeperHost),
};

async function placeOn(host: Host): Promise<OpenedStore> {
  const server = await host.start();
  return { url: storeUrl([server.url], freshNamespace(), host.store), [Symbol.asyncDispose]: () => server.stop() };
}

export const reaperChecks: Readonly<Record<keyof typeof places, Check>> = {
  consul: reaperCheck('consul', places.consul),
  etcd: reaperCheck('etcd', places.etcd),
  kubernetes: reaperCheck('kubernetes', places.kubernetes),
  postgres: reaperCheck('postgres', places.postgres),
  redis: reaperCheck('redis', places.redis),
  sqlite: reaperCheck('sqlite', places.sqlite),
  zookeeper: reaperCheck('zookeeper', places.zookeeper),
};

const MAX_MB = 15;
const BARE = new URL('../bare.js', import.meta.url);

/**
 * A process's memory in MB: `rss` counts shared memory in full, `pss` counts the process's share of
 * it.
 */
async function memoryOf(pid: number): Promise<{ readonly rss: number; readonly pss: number }> {
  const rollup = await readFile(`/proc/${pid}/smaps_rollup`, 'latin1');
  const mb = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(rollup)?.[1]) / 1_024;
  return { rss: mb('Rss'), pss: mb('Pss') };
}

export const reaperMemory: Check = {
  name: 'reaper-memory',
  claim: `A reaper takes at most ${MAX_MB} MB more memory than a process of the same Node that does nothing, on every store.`,
  method:
    'A process that leads, on the packages as they are built, on each store in turn; its reaper, 3 s after it was ready, and a bare process (a script with one timer) beside it. ' +
    "Pss and Rss of the kernel's smaps_rollup, the one less the other, in MB: in Pss what processes share (Node's own code) is shared among them, in Rss each has all of it to " +
    'itself.',
  runs: 3,
  parallel: 1,
  open: async () => {
    execFileSync('tsc', ['-b'], { cwd: fileURLToPath(new URL('../../..', import.meta.url)) });
    return {
      run: async () => {
        const figures: Record<string, number> = {};
        for (const [store, place] of Object.entries(places)) {
          await using opened = await place();
          await using bare = await spawnScript(BARE, { built: true });
          await using leader = await spawnMember(opened.url, 'a', TTL_MS, 0, { reaper: true, built: true });
          const ready = await leader.waitFor('reaperReady', { withinMs: WAIT_MS });
          await leader.waitFor('elected', { withinMs: WAIT_MS });
          await bare.waitFor('there', { withinMs: WAIT_MS });
          await sleep(3_000);
          const [reaper, other] = await Promise.all([memoryOf(Number(ready.fields['pid'])), memoryOf(bare.pid)]);
          figures[`${store}Rss`] = reaper.rss - other.rss;
          figures[`${store}Pss`] = reaper.pss - other.pss;
        }
        for (const [name, mb] of Object.entries(figures)) assert.ok(mb <= MAX_MB, `${name} is ${mb} MB`);
        return { figures };
      },
      [Symbol.asyncDispose]: async () => {},
    };
  },
};
