/** The most important scenario: how long nobody leads when a leader resigns or hands over. */

import { setTimeout as sleep } from 'node:timers/promises';
import { OWN_FLOOR, OWN_FLOOR_WITH_READ, type Contestant } from '../harness/contestants.ts';
import { msBetween, stampOf, type Driver } from '../harness/driver.ts';
import { All } from '../harness/all.ts';
import type { Bench, Chart, Scenario, Section, Target } from '../harness/run.ts';
import { besideFloor, number, shown, spreadOf, type Spread } from '../harness/spread.ts';
import { freshNamespace, STORES, type StoreName } from '../harness/stage.ts';

/** Longer than any wait for the next leader: redlock polls five times a second. */
const WITHIN_MS = 20_000;
/** The same after every contestant, so that each finds the processor equally awake. */
const BETWEEN_TURNS_MS = 40;

/** One handover, in ms. */
interface Handover {
  /** From the leader's call until the next one learns that it leads. */
  readonly tookMs: number;
  /** From when the leader stops considering itself leader, if its library tells that. */
  readonly vacantMs: number | undefined;
}

/** Two candidates. One leads, and the other waits. */
class Pair implements AsyncDisposable {
  readonly contestant: Contestant;
  readonly takesMs: number[] = [];
  readonly vacantMs: number[] = [];
  #leader: { readonly driver: Driver; readonly as: string };
  #other: { readonly driver: Driver; readonly as: string };

  private constructor(contestant: Contestant, a: Driver, b: Driver) {
    this.contestant = contestant;
    this.#leader = { driver: a, as: 'a' };
    this.#other = { driver: b, as: 'b' };
  }

  static async open(bench: Bench, contestant: Contestant): Promise<Pair> {
    const namespace = freshNamespace();
    // Ends the drivers if this fails: a driver that goes on would keep the benchmark alive.
    await using opened = new AsyncDisposableStack();
    const start = async (): Promise<Driver> => opened.use(await bench.start(contestant, { namespace }));
    const a = await start();
    const b = contestant.oneProcess === true ? a : await start();
    const pair = new Pair(contestant, a, b);
    await a.ask({ do: 'campaign', as: 'a' }, 'leads');
    b.send({ do: 'campaign', as: 'b' });
    await sleep(1_000);
    opened.move();
    return pair;
  }

  /**
   * One handover: from just before the leader's call until the next one learns that it leads. The
   * former leader then waits.
   */
  async turn(): Promise<Handover> {
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
    await sleep(BETWEEN_TURNS_MS);
    const stopped = driver.events.slice(own).find(({ event, fields }) => event === 'stopped' && fields['as'] === as);
    return {
      tookMs: msBetween(stampOf(resigned, 'since'), leads.at),
      vacantMs: stopped === undefined ? undefined : msBetween(stopped.at, leads.at),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#leader, this.#other].map(({ driver }) => driver[Symbol.asyncDispose]()));
  }
}

/** The time from the call to the next leader, and the vacancy, if that is known. */
interface Times {
  readonly took: Spread;
  readonly vacant: Spread | undefined;
}

type Measured = ReadonlyMap<Contestant, Times>;

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
  for (let round = 0; round < turns + warm; round += 1) {
    // Not after each turn: a processor that has just been idle for long makes the next turn longer.
    await sleep(Math.max(...pairs.map(({ contestant }) => contestant.settleMs)));
    // Each contestant goes first equally often.
    const order = pairs.map((_, index) => pairs[(index + round) % pairs.length]);
    for (const pair of order) {
      const done = await pair?.turn();
      if (round < warm || done === undefined) continue;
      pair?.takesMs.push(done.tookMs);
      if (done.vacantMs !== undefined) pair?.vacantMs.push(done.vacantMs);
    }
  }
  return new Map(
    pairs.flatMap(({ contestant, takesMs, vacantMs }) => {
      const took = spreadOf(takesMs);
      return took === undefined ? [] : [[contestant, { took, vacant: spreadOf(vacantMs) }] as const];
    }),
  );
}

/** The contestants that ratios of a store are relative to. */
const BASE: Readonly<Partial<Record<StoreName, string>>> = {
  etcd: 'Go concurrency',
  zookeeper: 'kazoo Election',
  consul: 'HTTP recipe',
  postgres: 'advisory lock, waiting',
  redis: 'redis-semaphore Mutex',
  kubernetes: 'client-go',
};

/** What the other libraries do is a resignation, whatever its name. */
const OURS = ['incumbent, resign', 'incumbent, handover'];

function targetsOf(store: StoreName, measured: Measured): readonly Target[] {
  return OURS.flatMap((name) => [...targetsOfOne(store, name, measured), ...vacancyTarget(store, name, measured)]);
}

/** The median time of a contestant, in ms. */
function medianMs(measured: Measured, wanted: string): number | undefined {
  return [...measured].find(([{ name }]) => name === wanted)?.[1].took.median;
}

/** The least time in which the SDK's own client can do what the next leader must do, in ms. */
function floorMs(measured: Measured): number | undefined {
  return medianMs(measured, OWN_FLOOR_WITH_READ) ?? medianMs(measured, OWN_FLOOR);
}

/**
 * On etcd and Redis, nobody leads for a shorter time than with any other library. A library that
 * does not tell when its leader stops is taken to stop with the call. The floor of a handover is
 * also that of a vacancy: the leader stops before the swap is sent.
 */
function vacancyTarget(store: StoreName, name: string, measured: Measured): readonly Target[] {
  if (store !== 'etcd' && store !== 'redis') return [];
  const own = [...measured].find(([contestant]) => contestant.name === name)?.[1].vacant?.median;
  const theirs = [...measured].flatMap(([{ kind }, { took, vacant }]) => (kind === 'peer' ? [(vacant ?? took).median] : []));
  const known = own !== undefined && theirs.length > 0;
  return [
    {
      what: `vacancy, ${name}, ${store}`,
      wanted: 'shorter than that of every other library',
      measured: known
        ? `${besideFloor(own, floorMs(measured), 'ms')}, the shortest other ${number(Math.min(...theirs))} ms`
        : 'not measured',
      met: known ? own < Math.min(...theirs) : undefined,
    },
  ];
}

function targetsOfOne(store: StoreName, name: string, measured: Measured): readonly Target[] {
  const own = medianMs(measured, name);
  const what = `${name}, ${store}`;
  const floor = floorMs(measured);
  const ratio = (peer: string, most: number): Target => {
    const theirs = medianMs(measured, peer);
    const wanted = `at most ${most} × ${peer}`;
    if (own === undefined || theirs === undefined) return { what, wanted, measured: 'not measured', met: undefined };
    const least = floor === undefined || peer.startsWith('floor') ? undefined : floor / theirs;
    return { what, wanted, measured: besideFloor(own / theirs, least, '×'), met: own / theirs <= most };
  };
  const under = (most: number): Target => {
    const wanted = `under ${most} ms`;
    if (own === undefined) return { what, wanted, measured: 'not measured', met: undefined };
    return { what, wanted, measured: besideFloor(own, floor, 'ms'), met: own < most };
  };
  switch (store) {
    case 'etcd':
      return [ratio('Go concurrency', 1.4), ratio('npm etcd3 Election', 0.25), ratio(OWN_FLOOR, 1.3), ratio('floor: Go clientv3', 1.3)];
    case 'zookeeper':
      return [ratio('kazoo Election', 1.4)];
    case 'consul':
      return [ratio('HTTP recipe', 1.15)];
    case 'postgres':
      return [ratio(OWN_FLOOR, 1.3)];
    case 'redis':
      return [ratio('redis-semaphore Mutex', 0.35)];
    case 'kubernetes':
      return [ratio('client-go', 0.1)];
    case 'sqlite':
      return [under(3)];
    case 'memory':
      return [under(1)];
    default:
      return store satisfies never;
  }
}

function rowsOf(store: StoreName, measured: Measured): readonly (readonly string[])[] {
  const base = [...measured].find(([{ name }]) => name === BASE[store])?.[1].took.median;
  return [...measured].map(([{ name }, { took, vacant }]) => {
    const share = base === undefined ? '–' : `${number(took.median / base)} ×`;
    const vacancy = vacant === undefined ? '–' : shown(vacant);
    return [name, shown(took), number(took.min), number(took.max), String(took.n), share, vacancy];
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
        bars: [...measured].map(([{ name, kind }, { took }]) => ({ label: name, kind, spread: took })),
      })),
    };
    return {
      title: 'Handover',
      method:
        'Two candidates of each contestant, a process each (memory: one process); one leads, the other waits. From just before the leader’s call that gives leadership up to the next one being told that it leads, ' +
        'in ms; then the former leader waits in its turn. The contestants of a store take turns in one loop, each going first as often as any other; before each round, all wait until every candidate has settled. `floor`: no election; who waits gets one notification that a key has gone, ' +
        'and makes one swap; `with a read`: it reads another key in between, as the next leader does on ZooKeeper, whose notifications do not say how the last term ended. `incumbent, handover` is `leadership.handover()`, `incumbent, resign` is `leadership.resign()`; both leaders have led for longer than a second, so they know their successor. ' +
        'Vacancy: from the moment at which the former leader no longer considers itself leader, for libraries that tell it.',
      tables: [...all].map(([store, measured]) => ({
        title: store,
        table: {
          head: ['', 'median (middle half), ms', 'min', 'max', 'n', BASE[store] === undefined ? '' : `to ${BASE[store]}`, 'vacancy, ms'],
          rows: rowsOf(store, measured),
        },
      })),
      charts: [chart],
      targets: [...all].flatMap(([store, measured]) => targetsOf(store, measured)),
    };
  },
};
