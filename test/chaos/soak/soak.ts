/**
 * Many members and many elections for a long time. Resource use at the end must be the same as at
 * the beginning.
 */

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { spawnScript, startEtcd, until, type EtcdServer, type ScriptEvent, type ScriptProcess } from '@incumbent/test-support';
import type { Check, Figures } from '../../integration/checks/check.ts';
import { freshNamespace, storeUrl } from '../../integration/checks/pair.ts';

const WORKER = new URL('./worker.ts', import.meta.url);

export interface SoakSize {
  readonly elections: number;
  readonly members: number;
  /** Of each election. */
  readonly candidates: number;
  readonly processes: number;
  readonly minutes: number;
}

const FULL: SoakSize = { elections: 1_000, members: 50, candidates: 3, processes: 5, minutes: 40 };
const SETTLES_WITHIN_MS = 300_000;
const MEASURES_WITHIN_MS = 120_000;
const MB = 2 ** 20;
/** A heap may grow by this many MB in each process, for compiled code and caches. */
const HEAP_MB = 12;

/** What etcd holds, as it reports. */
interface EtcdUsage {
  readonly keys: number;
  readonly leases: number;
  readonly watches: number;
}

/** What one process holds, as it reports. */
interface Has {
  readonly heap: number;
  readonly handles: number;
  readonly files: number;
}

export async function soak(size: SoakSize, seed: number): Promise<Figures> {
  await using etcd = await startEtcd();
  const namespace = freshNamespace();
  await using crowd = await Crowd.start(storeUrl([etcd.url], namespace), size, seed);
  await settled(etcd, namespace, size);
  const heldBefore = await held(etcd, namespace);
  // The members begin to churn after this.
  const before = await crowd.measure();
  await sleep(size.minutes * 60_000);
  const churned = crowd.measure();
  const after = await churned;
  await settled(etcd, namespace, size);
  const heldAfter = await held(etcd, namespace);
  const figures = { ...deltas(before, after), ...compared(heldBefore, heldAfter), ...crowd.deeds() };
  crowd.assertQuiet();
  for (const now of [heldBefore, heldAfter]) {
    assert.deepEqual([now.keys, now.leases], [heldBefore.keys, size.members], 'etcd holds what it held');
    assert.ok(now.watches <= mostWatches(size), `${now.watches} watches; ${mostWatches(size)} at the most`);
  }
  for (const [index, { handles, files, heap }] of after.entries()) {
    const first = before[index];
    assert.ok(first !== undefined);
    assert.ok(
      handles <= first.handles && files <= first.files,
      `process ${index}: ${first.handles} handles, ${first.files} files became ${handles}, ${files}`,
    );
    assert.ok(heap - first.heap <= HEAP_MB * MB, `process ${index}: the heap grew from ${first.heap} to ${heap} bytes`);
  }
  await crowd.close();
  const left = await held(etcd, namespace);
  assert.deepEqual(left, { keys: size.elections, leases: 0, watches: 0 }, 'when all have left there are the terms, and nothing else');
  return figures;
}

export const soakCheck: Check = {
  name: 'soak',
  claim: `${FULL.elections.toLocaleString('en')} elections of ${FULL.members} members on one etcd, with churn, leave behind what they found: memory, handles, keys, leases and watches.`,
  method:
    `${FULL.processes} processes of ${FULL.members / FULL.processes} members each, with a store each; ${FULL.candidates} candidates an election; ttl 30 s. All the time, in each process: a leader resigns or hands over, a candidate gives up and ` +
    'comes back, somebody observes, somebody joins a group, a member leaves and comes back: about four a second. Compared, once all is settled, before and after: each process’s heap after collection (the ' +
    'greatest growth, in MB), handles and open files (losses and unanswered calls are the machine’s); etcd’s keys, leases and watchers, by its own count (a candidate may have three at the most, whoever is next in line four). Then all leave: nothing but terms may be left.',
  runs: 1,
  parallel: 1,
  open: async () => ({
    run: async (_index, { seed, minutes = FULL.minutes }) => ({ figures: { minutes, ...(await soak({ ...FULL, minutes }, seed)) } }),
    [Symbol.asyncDispose]: async () => {},
  }),
};

class Crowd implements AsyncDisposable {
  readonly #scripts: readonly ScriptProcess[];

  private constructor(scripts: readonly ScriptProcess[]) {
    this.#scripts = scripts;
  }

  static async start(url: string, { elections, members, candidates, processes }: SoakSize, seed: number): Promise<Crowd> {
    const each = members / processes;
    const starts = Array.from({ length: processes }, async (_, index) => {
      const args = [url, index * each, each, elections, candidates, members, seed].map(String);
      const script = await spawnScript(WORKER, { args });
      await script.waitFor('joined', { withinMs: MEASURES_WITHIN_MS });
      return script;
    });
    return new Crowd(await Promise.all(starts));
  }

  /** Called twice: after the first call the members churn, and at the second they have stopped. */
  measure(): Promise<readonly Has[]> {
    return this.#ask((script) => script.sigusr2(), 'measured');
  }

  /** How often each action happened, and what the busy machine prevented. */
  deeds(): Figures {
    const sums: Record<string, number> = {};
    for (const script of this.#scripts) {
      const done: unknown = script.events.findLast(({ event }) => event === 'measured')?.fields['done'];
      for (const [name, count] of Object.entries(Object(done))) sums[name] = (sums[name] ?? 0) + Number(count);
    }
    return sums;
  }

  assertQuiet(): void {
    const complaints = this.#scripts.flatMap(({ events }) =>
      events.filter(({ event }) => event === 'trouble').map(({ fields }) => fields['problem']),
    );
    assert.deepEqual(complaints.slice(0, 10), []);
    assert.deepEqual(
      this.#scripts.flatMap(({ output }) => output),
      [],
    );
  }

  async close(): Promise<void> {
    await this.#ask((script) => script.sigterm(), 'closed');
    await Promise.all(this.#scripts.map(({ exited }) => exited));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#scripts.map((script) => script[Symbol.asyncDispose]()));
  }

  #ask(tell: (script: ScriptProcess) => void, event: string): Promise<readonly Has[]> {
    return Promise.all(
      this.#scripts.map(async (script) => {
        const from = script.events.length;
        tell(script);
        return hasOf(await script.waitFor(event, { withinMs: MEASURES_WITHIN_MS, from }));
      }),
    );
  }
}

function hasOf({ fields }: ScriptEvent): Has {
  return { heap: Number(fields['heap']), handles: Number(fields['handles']), files: Number(fields['files']) };
}

function deltas(before: readonly Has[], after: readonly Has[]): Figures {
  const most = (of: (has: Has) => number): number => Math.max(...after.map((has, index) => of(has) - of(before[index] ?? has)));
  return {
    heapMb: Math.max(...before.map(({ heap }) => heap)) / MB,
    heapGrowthMb: most(({ heap }) => heap) / MB,
    handlesGrowth: most(({ handles }) => handles),
    filesGrowth: most(({ files }) => files),
  };
}

/**
 * The most watches. A leader watches its entry and its record. A candidate watches its entry, the
 * one ahead and the record; the second in line may not need the record, depending on when it read.
 * The next in line also watches the term. Each member watches its own key.
 */
function mostWatches({ elections, candidates, members }: SoakSize): number {
  return elections * (2 + 3 * (candidates - 1) + 1) + members;
}

function compared(before: EtcdUsage, after: EtcdUsage): Figures {
  return {
    keys: before.keys,
    keysAfter: after.keys,
    leases: before.leases,
    leasesAfter: after.leases,
    watches: before.watches,
    watchesAfter: after.watches,
  };
}

/** All candidates are in their queues, and every election has a leader. */
async function settled(etcd: EtcdServer, namespace: string, { elections, members, candidates }: SoakSize): Promise<void> {
  const all = elections * (candidates + 2) + members;
  const isSettled = async (): Promise<true> => {
    const { keys } = await held(etcd, namespace);
    // Thrown, so that a timeout reports how many there were.
    assert.equal(keys, all);
    return true;
  };
  await until(isSettled, { what: `${all} keys`, withinMs: SETTLES_WITHIN_MS, everyMs: 1_000 });
  // Watches are opened shortly after the keys that they follow.
  await sleep(2_000);
}

async function held(etcd: EtcdServer, namespace: string): Promise<EtcdUsage> {
  const keys = await etcd.ctl(['get', '--prefix', '--keys-only', `${namespace}/`]);
  const leases = await etcd.ctl(['lease', 'list']);
  const metrics = await (await fetch(`${etcd.url}/metrics`)).text();
  return {
    keys: keys.split('\n').filter((line) => line !== '').length,
    leases: leases.trim().split('\n').length - 1,
    watches: Number(/^etcd_debugging_mvcc_watcher_total (\S+)$/m.exec(metrics)?.[1] ?? Number.NaN),
  };
}
