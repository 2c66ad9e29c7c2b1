/** The most important scenario: how long nobody leads when a leader resigns or hands over. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Contestant } from '../harness/contestants.ts';
import { msBetween, stampOf, type Driver } from '../harness/driver.ts';
import { All } from '../harness/all.ts';
import type { Bench, Chart, Scenario, Section, Target } from '../harness/run.ts';
import { number, shown, spreadOf, type Spread } from '../harness/spread.ts';
import { freshNamespace, STORES, type StoreName } from '../harness/stage.ts';

/** Longer than any wait for the next leader: redlock polls five times a second. */
const WITHIN_MS = 20_000;

/** Two candidates. One leads, and the other waits. */
class Pair implements AsyncDisposable {
  readonly contestant: Contestant;
  readonly takesMs: number[] = [];
  #leader: { readonly driver: Driver; readonly as: string };
  #other: { readonly driver: Driver; readonly as: string };

  private constructor(contestant: Contestant, a: Driver, b: Driver) {
    this.contestant = contestant;
    this.#leader = { driver: a, as: 'a' };
    this.#other = { driver: b, as: 'b' };
  }

  static async open(bench: Bench, contestant: Contestant): Promise<Pair> {
    const namespace = freshNamespace();
    const start = (): Promise<Driver> => bench.start(contestant, { namespace });
    const a = await start();
    const b = contestant.oneProcess === true ? a : await start();
    const pair = new Pair(contestant, a, b);
    await a.ask({ do: 'campaign', as: 'a' }, 'leads');
    b.send({ do: 'campaign', as: 'b' });
    await sleep(1_000);
    return pair;
  }

  /**
   * One handover in ms, from just before the leader's call until the next one learns that it leads.
   * The former leader then waits.
   */
  async turn(): Promise<number> {
    const { driver, as } = this.#leader;
    const next = this.#other;
    const from = next.driver.events.length;
    const own = driver.events.length;
    driver.send({ do: 'resign', as });
    const leads = await next.driver.waitFor(({ event, fields }) => event === 'leads' && fields['as'] === next.as, {
      from,
      withinMs: WITHIN_MS,
    });
    const resigned = await driver.waitFor('resigned', { from: own, withinMs: WITHIN_MS });
    this.#other = this.#leader;
    this.#leader = next;
    driver.send({ do: 'campaign', as });
    await sleep(this.contestant.settleMs);
    return msBetween(stampOf(resigned, 'since'), leads.at);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#leader, this.#other].map(({ driver }) => driver[Symbol.asyncDispose]()));
  }
}

type Measured = ReadonlyMap<Contestant, Spread>;

async function measure(bench: Bench, store: StoreName): Promise<Measured> {
  const turns = bench.options.quick ? 3 : 40;
  const warm = bench.options.quick ? 1 : 5;
  await using opened = new All<Pair>();
  const opening = (await bench.contestants(store)).map(async (contestant) => {
    try {
      return await opened.add(Pair.open(bench, contestant));
    } catch (error) {
      bench.drop(contestant, error);
      return undefined;
    }
  });
  const pairs = (await Promise.all(opening)).filter((pair) => pair !== undefined);
  for (let turn = 0; turn < turns + warm; turn += 1) {
    // Each contestant goes first equally often.
    const order = pairs.map((_, index) => pairs[(index + turn) % pairs.length]);
    for (const pair of order) {
      const tookMs = await pair?.turn();
      if (turn >= warm && tookMs !== undefined) pair?.takesMs.push(tookMs);
    }
  }
  return new Map(
    pairs.flatMap(({ contestant, takesMs }) => {
      const spread = spreadOf(takesMs);
      return spread === undefined ? [] : [[contestant, spread] as const];
    }),
  );
}

/** The contestants that ratios of a store are relative to. */
const BASE: Readonly<Partial<Record<StoreName, string>>> = {
  etcd: 'Go concurrency',
  zookeeper: 'kazoo Election',
  consul: 'HTTP recipe',
  redis: 'redis-semaphore Mutex',
};

/**
 * One notification and one swap without any decision in between: the lower bound for elections by
 * the same client.
 */
const OWN_FLOOR = "floor: Incumbent's store client";

/**
 * What the other libraries do is a resignation, whatever its name. A handover does more: it first
 * checks that a successor waits.
 */
const OURS = ['incumbent, resign', 'incumbent, handover'];

function targetsOf(store: StoreName, measured: Measured): readonly Target[] {
  return OURS.flatMap((name) => targetsOfOne(store, name, measured));
}

function targetsOfOne(store: StoreName, name: string, measured: Measured): readonly Target[] {
  const of = (wanted: string): number | undefined => [...measured].find(([contestant]) => contestant.name === wanted)?.[1].median;
  const own = of(name);
  const what = `${name}, ${store}`;
  const ratio = (peer: string, most: number): Target => {
    const theirs = of(peer);
    const wanted = `at most ${most} × ${peer}`;
    if (own === undefined || theirs === undefined) return { what, wanted, measured: 'not measured', met: undefined };
    const floor = peer.startsWith('floor') ? undefined : of(OWN_FLOOR);
    const least = floor === undefined ? '' : `, its floor ${number(floor / theirs)} ×`;
    return { what, wanted, measured: `${number(own / theirs)} ×${least}`, met: own / theirs <= most };
  };
  const under = (most: number): Target => ({
    what,
    wanted: `under ${most} ms`,
    measured: own === undefined ? 'not measured' : `${number(own)} ms`,
    met: own === undefined ? undefined : own < most,
  });
  switch (store) {
    case 'etcd':
      return [ratio('Go concurrency', 1.3), ratio('npm etcd3 Election', 0.25), ratio(OWN_FLOOR, 1.3), ratio('floor: Go clientv3', 1.3)];
    case 'zookeeper':
      return [ratio('kazoo Election', 0.8)];
    case 'consul':
      return [ratio('HTTP recipe', 0.7)];
    case 'redis':
      return [ratio('redis-semaphore Mutex', 0.4)];
    case 'sqlite':
      return [under(15)];
    case 'memory':
      return [under(1)];
    default:
      return store satisfies never;
  }
}

function rowsOf(store: StoreName, measured: Measured): readonly (readonly string[])[] {
  const base = [...measured].find(([{ name }]) => name === BASE[store])?.[1].median;
  return [...measured].map(([{ name }, spread]) => {
    const share = base === undefined ? '–' : `${number(spread.median / base)} ×`;
    return [name, shown(spread), number(spread.min), number(spread.max), String(spread.n), share];
  });
}

export const handover: Scenario = {
  name: 'handover',
  async run(bench): Promise<Section> {
    const stores = STORES.filter((store) => bench.options.stores.includes(store));
    const all = new Map<StoreName, Measured>();
    for (const store of stores) all.set(store, await measure(bench, store));
    const chart: Chart = {
      name: 'handover',
      title: 'Handover: from the leader’s call to the next leader',
      unit: 'ms',
      groups: [...all].map(([store, measured]) => ({
        title: store,
        bars: [...measured].map(([{ name, kind }, spread]) => ({ label: name, kind, spread })),
      })),
    };
    return {
      title: 'Handover',
      method:
        'Two candidates of each contestant, a process each (memory: one process); one leads, the other waits. From just before the leader’s call that gives leadership up to the next one being told that it leads, ' +
        'in ms; then the former leader waits in its turn. The contestants of a store take turns in one loop, each going first as often as any other. `floor`: no election; who waits gets one notification that a key has gone, ' +
        'and makes one swap. `incumbent, handover` is `leadership.handover()`, which `member.shutdown()` does, too; `incumbent, resign` is `leadership.resign()`.',
      tables: [...all].map(([store, measured]) => ({
        title: store,
        table: {
          head: ['', 'median (middle half), ms', 'min', 'max', 'n', BASE[store] === undefined ? '' : `to ${BASE[store]}`],
          rows: rowsOf(store, measured),
        },
      })),
      charts: [chart],
      targets: [...all].flatMap(([store, measured]) => targetsOf(store, measured)),
    };
  },
};
