/** The cost of elections while nothing happens. */

import { setTimeout as sleep } from 'node:timers/promises';
import { floorWithWatch, type Contestant } from '../harness/contestants.ts';
import type { Driver } from '../harness/driver.ts';
import type { Bench, Scenario, Section, Target } from '../harness/run.ts';
import { besideFloor, number, spreadOf } from '../harness/spread.ts';
import { STORES, type StoreName } from '../harness/stage.ts';

const WITHIN_MS = 300_000;
/** Campaigns that start at the same time. */
const AT_ONCE = 100;

interface Measured {
  readonly elections: number;
  readonly perSecond: number | undefined;
  readonly cpuPercent: number;
  /** After a forced collection of garbage. */
  readonly rssKb: number;
  readonly rssBeforeCollectionKb: number;
  readonly wonMs: number;
}

async function win(driver: Driver, elections: number): Promise<number> {
  const from = performance.now();
  const leads = (): number => driver.events.filter(({ event }) => event === 'leads').length;
  for (let begun = 0; begun < elections; begun += AT_ONCE) {
    const batch = Math.min(AT_ONCE, elections - begun);
    for (let i = 0; i < batch; i += 1) driver.send({ do: 'campaign', election: `e${begun + i}` });
    const end = performance.now() + WITHIN_MS;
    while (leads() < begun + batch) {
      if (performance.now() > end || driver.events.some(({ event }) => event === 'failed'))
        throw new Error(`led ${leads()} of ${elections}`);
      await sleep(5);
    }
  }
  return performance.now() - from;
}

async function measure(bench: Bench, contestant: Contestant, elections: number): Promise<Measured> {
  const forMs = bench.options.quick ? 1_000 : 6_000;
  const stage = await bench.stage(contestant.store);
  await using driver = await bench.start(contestant);
  const wonMs = await win(driver, elections);
  await sleep(bench.options.quick ? 500 : 2_000);
  const { rssKb: rssBeforeCollectionKb } = driver.usage();
  await driver.ask({ do: 'collect' }, 'collected');
  await sleep(200);
  const [requests, usage, from] = [await stage.requests(contestant.commands), driver.usage(), performance.now()];
  await sleep(forMs);
  const [requestsAfter, usageAfter, tookMs] = [await stage.requests(contestant.commands), driver.usage(), performance.now() - from];
  const lost = driver.events.filter(({ event }) => event === 'lost').length;
  if (lost > 0) throw new Error(`lost ${lost} of ${elections} elections while idle`);
  return {
    elections,
    perSecond: requests === undefined || requestsAfter === undefined ? undefined : ((requestsAfter - requests) * 1_000) / tookMs,
    cpuPercent: (100 * (usageAfter.cpuMs - usage.cpuMs)) / tookMs,
    rssKb: usageAfter.rssKb,
    rssBeforeCollectionKb,
    wonMs,
  };
}

/** The name in the tables. This scenario has only one mode of Incumbent. */
function nameOf({ kind, name }: Contestant): string {
  return kind === 'ours' ? 'incumbent' : name;
}

/** How many processes of each contestant win the elections whose times are compared. */
const ROUNDS = 5;

/** The median time in which each contestant wins so many elections, in ms. They take turns. */
async function winInTurns(bench: Bench, contestants: readonly Contestant[], elections: number): Promise<ReadonlyMap<string, number>> {
  const times = new Map<string, number[]>();
  for (let round = 0; round < (bench.options.quick ? 1 : ROUNDS); round += 1) {
    for (const contestant of contestants) {
      await using driver = await bench.start(contestant);
      const name = nameOf(contestant);
      times.set(name, [...(times.get(name) ?? []), await win(driver, elections)]);
    }
  }
  return new Map([...times].map(([name, all]) => [name, spreadOf(all)?.median ?? Number.NaN]));
}

/** On Kubernetes, one object has the keys of all elections, and it can take 1 MB. */
function mostOf({ kind, store }: Contestant): number {
  return kind !== 'peer' && store !== 'kubernetes' ? 10_000 : 1_000;
}

const MOST_KB = 40;
const MOST_FURTHER_KB = { consul: 16, others: 10 } as const;
const MOST_CPU_PERCENT = 1;
/** To win 1,000 elections, in times of the other library. */
const MOST_RATIO = 2;
const GO = 'Go concurrency';

function targetsOf(store: StoreName, all: readonly Measured[], floor: readonly Measured[]): readonly Target[] {
  const [one, many, most] = all;
  const kb = uncollectedOf(all);
  if (one === undefined || many === undefined || kb === undefined) return [];
  const targets: Target[] = [
    {
      what: `idle, ${many.elections.toLocaleString('en')} elections, ${store}, without a forced collection`,
      wanted: `at most ${MOST_KB} KB each`,
      measured: besideFloor(kb, uncollectedOf(floor), 'KB'),
      met: kb <= MOST_KB,
    },
  ];
  if (most === undefined) return targets;
  const [furtherKb, mostKb] = [furtherOf(many, most), MOST_FURTHER_KB[store === 'consul' ? 'consul' : 'others']];
  const [, manyKeys, mostKeys] = floor;
  const floorKb = manyKeys === undefined || mostKeys === undefined ? undefined : furtherOf(manyKeys, mostKeys);
  targets.push({
    what: `idle, ${most.elections.toLocaleString('en')} elections, ${store}`,
    wanted: `at most ${mostKb} KB for each further one`,
    measured: besideFloor(furtherKb, floorKb, 'KB'),
    met: furtherKb <= mostKb,
  });
  // The watches of SQLite read the file.
  if (store === 'sqlite') return targets;
  return [
    ...targets,
    {
      what: `idle, ${most.elections.toLocaleString('en')} elections, ${store}`,
      wanted: `under ${MOST_CPU_PERCENT} % of a processor`,
      measured: `${number(most.cpuPercent)} %`,
      met: most.cpuPercent < MOST_CPU_PERCENT,
    },
  ];
}

/** The memory of each election of the second size without a forced collection, in KB. */
function uncollectedOf([one, many]: readonly Measured[]): number | undefined {
  if (one === undefined || many === undefined) return undefined;
  return (many.rssBeforeCollectionKb - one.rssBeforeCollectionKb) / many.elections;
}

/** The memory of each further election, in KB. */
function furtherOf(few: Measured, many: Measured): number {
  return (many.rssKb - few.rssKb) / (many.elections - few.elections);
}

/** `one`: with one election. `before`: with fewer elections. */
function rowOf(name: string, measured: Measured, one: Measured, before: Measured | undefined): string[] {
  const { elections, perSecond, cpuPercent, rssKb, rssBeforeCollectionKb, wonMs } = measured;
  const each = (kb: number): string => (elections === 1 ? '–' : number(kb / elections));
  return [
    name,
    elections.toLocaleString('en'),
    perSecond === undefined ? '–' : number(perSecond),
    number(cpuPercent),
    number(rssKb / 1_024),
    each(rssKb - one.rssKb),
    before === undefined ? '–' : number(furtherOf(before, measured)),
    each(rssBeforeCollectionKb - one.rssBeforeCollectionKb),
    number(wonMs),
  ];
}

/**
 * To win many elections on etcd, next to the other library whose elections share a session, too.
 */
function startTarget(elections: number, wonMs: ReadonlyMap<string, number>, floor: string): Target {
  const toWin = (name: string): number => wonMs.get(name) ?? Number.NaN;
  const ratio = toWin('incumbent') / toWin(GO);
  return {
    what: `to win ${elections.toLocaleString('en')} elections, etcd`,
    wanted: `at most ${MOST_RATIO} × ${GO}`,
    measured: besideFloor(ratio, toWin(floor) / toWin(GO), '×'),
    met: ratio <= MOST_RATIO,
  };
}

export const idle: Scenario = {
  name: 'idle',
  async run(bench): Promise<Section> {
    const { quick, most, stores } = bench.options;
    const sizes = (quick ? [1, 10] : [1, 1_000, 10_000]).filter((size) => size <= most);
    const tables: Section['tables'][number][] = [];
    const targets: Target[] = [];
    for (const store of STORES.filter((name) => stores.includes(name))) {
      const floor = floorWithWatch(store);
      const elected = (await bench.contestants(store)).filter(({ kind, mode, many }) => kind !== 'floor' && many && mode !== 'handover');
      const contestants = [...elected, floor];
      const rows: string[][] = [];
      const measured = new Map<string, readonly Measured[]>();
      for (const contestant of contestants) {
        const all: Measured[] = [];
        for (const size of sizes.filter((elections) => elections <= mostOf(contestant))) {
          try {
            all.push(await measure(bench, contestant, size));
          } catch (error) {
            bench.drop({ ...contestant, name: `${contestant.name}, ${size} elections` }, error);
            break;
          }
        }
        measured.set(nameOf(contestant), all);
      }
      const many = sizes[1];
      if (store === 'etcd' && many !== undefined) {
        const present = contestants.filter((contestant) => measured.has(nameOf(contestant)));
        const wonMs = await winInTurns(bench, present, many);
        for (const [name, all] of measured)
          measured.set(
            name,
            all.map((these) => (these.elections === many ? { ...these, wonMs: wonMs.get(name) ?? these.wonMs } : these)),
          );
        targets.push(startTarget(many, wonMs, floor.name));
      }
      for (const [name, all] of measured) {
        const [one] = all;
        if (one !== undefined) for (const [index, these] of all.entries()) rows.push(rowOf(name, these, one, all[index - 1]));
      }
      targets.push(...targetsOf(store, measured.get('incumbent') ?? [], measured.get(floor.name) ?? []));
      const head = [
        '',
        'elections',
        'requests/s',
        'processor, %',
        'memory, MB',
        'KB for each',
        'KB for each further one',
        'KB for each, without a forced collection',
        'to win them all, ms',
      ];
      tables.push({ title: store, table: { head, rows } });
    }
    return {
      title: 'Idle',
      method:
        'One process leads so many elections, on one session where the library can, ttl 10 s. Over 6 s, after a collection of garbage that gives memory back (in Node: V8’s last resort): requests as the server counts them, renewals included; processor time and resident memory as the kernel counts ' +
        'them, of the whole process. KB for each: over the same process with one election; ' +
        'for each further one: over the row above, as the first thousand also pay for what a runtime makes ready to run often. ' +
        'Without a forced collection: two seconds after the last election was won, and before that collection, over the same process with one election. ' +
        'To win 1,000 elections on etcd: the median of five processes, which take turns with those of the others. ' +
        '`floor`: no elections; the same store client creates so many keys by one swap each, and watches them, as a leader must to notice that it was replaced.',
      tables,
      charts: [],
      targets,
    };
  },
};
