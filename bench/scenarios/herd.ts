/** Whether a failover costs more and takes longer with more candidates. */

import { setTimeout as sleep } from 'node:timers/promises';
import { OWN_FLOOR, type Contestant } from '../harness/contestants.ts';
import { msBetween, stampOf, type Driver } from '../harness/driver.ts';
import type { Bench, Scenario, Section, Target } from '../harness/run.ts';
import { besideFloor, number, spreadOf } from '../harness/spread.ts';
import { freshNamespace, STORES, type Stage } from '../harness/stage.ts';

/**
 * Long, so that renewals hardly count. Otherwise a machine with two cores would mostly renew the
 * leases of thousands, and thousands take minutes to join.
 */
const TTL_MS = 1_800_000;
/** The longest timeout of a ZooKeeper session. */
const ZOOKEEPER_TTL_MS = 600_000;
/** Campaigns that begin at the same time. */
const AT_ONCE = 50;
const QUIET_MS = 500;
/** How busy waiting processes may be, and how many checks in a row must show it. */
const QUIET_RATIO = 0.1;
const QUIET_TIMES = 4;
const WITHIN_MS = 180_000;

interface Measured {
  readonly candidates: number;
  readonly failovers: readonly Failover[];
}

/** Over the failovers that have this figure. */
function medianOf(failovers: readonly Failover[], name: keyof Failover): number | undefined {
  return spreadOf(failovers.flatMap((failover) => failover[name] ?? []))?.median;
}

interface Failover {
  readonly tookMs: number;
  /** Undefined if the server does not count. */
  readonly requests: number | undefined;
  /** Before the failover, while all wait. */
  readonly perSecond: number | undefined;
}

/**
 * The next in line. Their process is separate from the one with thousands of candidates, as in
 * practice.
 */
const NEAR = 15;

/** A leader and so many waiting candidates. */
interface Size {
  readonly candidates: number;
  /** How many wait in the leader's process. */
  readonly near: number;
  /** Whose candidates wait in the other process. */
  readonly far: Contestant;
}

/**
 * The leader and the next in line campaign from one process, and all others from another, with a
 * session each if the library can.
 */
class Herd implements AsyncDisposable {
  readonly #contestant: Contestant;
  readonly #stage: Stage;
  readonly #drivers: readonly Driver[];
  readonly #waiting: number;
  #leader: Leader;

  private constructor(contestant: Contestant, stage: Stage, drivers: readonly Driver[], waiting: number, leader: Leader) {
    this.#contestant = contestant;
    this.#stage = stage;
    this.#drivers = drivers;
    this.#waiting = waiting;
    this.#leader = leader;
  }

  static async open(bench: Bench, contestant: Contestant, { candidates, near: nearby, far: crowd }: Size): Promise<Herd> {
    const stage = await bench.stage(contestant.store);
    const started = { namespace: freshNamespace(), ttlMs: contestant.store === 'zookeeper' ? ZOOKEEPER_TTL_MS : TTL_MS };
    const near = await bench.start(contestant, started);
    const drivers = [near];
    try {
      await near.ask({ do: 'campaign', as: 'c0' }, 'leads', WITHIN_MS);
      const others = Array.from({ length: candidates - 1 }, (_, index) => `c${index + 1}`);
      await campaign(near, contestant, others.slice(0, nearby));
      if (others.length > nearby) {
        const far = await bench.start(crowd, started);
        drivers.push(far);
        await campaign(far, crowd, others.slice(nearby));
      }
      const herd = new Herd(contestant, stage, drivers, others.length, { driver: near, as: 'c0' });
      await herd.#quiet();
      return herd;
    } catch (error) {
      await endAll(drivers);
      throw error;
    }
  }

  async failover(): Promise<Failover> {
    const idle = await this.#counted(QUIET_MS, async () => {});
    let tookMs = 0;
    const { driver, as } = this.#leader;
    const busy = await this.#counted(QUIET_MS, async () => {
      const from = driver.events.length;
      const next = this.#next();
      driver.send({ do: 'resign', as });
      const { at, ...leader } = await next;
      const resigned = await driver.waitFor('resigned', { from, withinMs: WITHIN_MS });
      tookMs = msBetween(stampOf(resigned, 'since'), at);
      this.#leader = leader;
    });
    // Keeps the number of candidates the same.
    driver.send({ do: 'campaign', as });
    await sleep(QUIET_MS);
    if (busy === undefined || idle === undefined) return { tookMs, requests: undefined, perSecond: undefined };
    return { tookMs, requests: Math.max(0, busy - (idle * (QUIET_MS + tookMs)) / QUIET_MS), perSecond: (1_000 * idle) / QUIET_MS };
  }

  /** The next candidate that learns from now on that it leads, in either process. */
  async #next(): Promise<Leader & { readonly at: bigint }> {
    const told = this.#drivers.map(async (driver) => {
      const { at, fields } = await driver.waitFor('leads', { from: driver.events.length, withinMs: WITHIN_MS });
      return { driver, as: String(fields['as']), at };
    });
    return Promise.race(told);
  }

  /** The number of requests to the server meanwhile, and for `forMs` after. */
  async #counted(forMs: number, task: () => Promise<void>): Promise<number | undefined> {
    const before = await this.#stage.requests(this.#contestant.commands);
    await task();
    await sleep(forMs);
    const after = await this.#stage.requests(this.#contestant.commands);
    return before === undefined || after === undefined ? undefined : after - before;
  }

  /**
   * Waits until all have joined and watch. Not every library reports that, but processes that join
   * keep themselves or the server busy. The server's count alone is not enough, because a process
   * that collects garbage sends nothing for a while and then continues. Polling candidates are
   * never quiet, so the wait for them is short.
   */
  async #quiet(): Promise<void> {
    const tries = 10 + this.#waiting / 20;
    // Each waiting candidate renews its lease once in ten minutes.
    const few = 10 + this.#waiting / 1_000;
    for (let [tried, quiet] = [0, 0]; tried < tries && quiet < QUIET_TIMES; tried += 1) {
      const before = this.#cpuMs();
      const asked = await this.#counted(QUIET_MS, async () => {});
      quiet = (asked ?? 0) < few && this.#cpuMs() - before < QUIET_RATIO * QUIET_MS ? quiet + 1 : 0;
    }
  }

  #cpuMs(): number {
    return this.#drivers.reduce((sum, driver) => sum + driver.usage().cpuMs, 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await endAll(this.#drivers);
  }
}

interface Leader {
  readonly driver: Driver;
  readonly as: string;
}

/** Incumbent's candidates tell when they have joined. The next ones wait for that. */
async function campaign(driver: Driver, { kind }: Contestant, names: readonly string[]): Promise<void> {
  for (let begun = 0; begun < names.length; begun += AT_ONCE) {
    const from = driver.events.length;
    const batch = names.slice(begun, begun + AT_ONCE);
    for (const as of batch) driver.send({ do: 'campaign', as });
    if (kind === 'ours') await joined(driver, batch.length, from);
    else await sleep(begun === 0 ? 700 : 150);
  }
}

async function joined(driver: Driver, candidates: number, from: number): Promise<void> {
  for (let told = 0, position = from; told < candidates; told += 1) {
    const event = await driver.waitFor('joined', { from: position, withinMs: WITHIN_MS });
    position = driver.events.indexOf(event, position) + 1;
  }
}

async function endAll(drivers: readonly Driver[]): Promise<void> {
  await Promise.all(drivers.map((driver) => driver[Symbol.asyncDispose]()));
}

/**
 * The floor has no queue: two clients take turns, while the candidates of Incumbent wait in the
 * same namespace.
 */
function sizeOf(contestant: Contestant, crowd: Contestant, candidates: number): Size {
  return contestant.kind === 'floor' ? { candidates, near: 1, far: crowd } : { candidates, near: NEAR, far: contestant };
}

async function measure(bench: Bench, contestant: Contestant, size: Size): Promise<Measured> {
  const { candidates } = size;
  const times = bench.options.quick ? 1 : NEAR;
  const failovers: Failover[] = [];
  try {
    await using herd = await Herd.open(bench, contestant, size);
    for (let i = 0; i < times; i += 1) failovers.push(await herd.failover());
  } finally {
    // The remains of thousands of candidates keep a server busy for minutes.
    if (candidates > 500) await bench.leave(contestant.store);
  }
  return { candidates, failovers };
}

/**
 * The most candidates of a contestant. One machine cannot serve a connection or a poll for each of
 * thousands. On Kubernetes, one object has the entries of all, and each one that joins replaces it.
 */
function mostOf({ kind, store }: Contestant): number {
  if (kind !== 'peer') return store === 'kubernetes' ? 500 : 5_000;
  return store === 'etcd' ? 1_000 : 100;
}

/** Between these sizes a handover works the same way, and many candidates take long to join. */
function sizesOf(contestant: Contestant, all: readonly number[]): readonly number[] {
  const sizes = all.filter((candidates) => candidates <= mostOf(contestant));
  const onlyEnds = contestant.kind === 'floor' || (contestant.kind === 'ours' && contestant.mode === 'handover');
  return onlyEnds ? sizes.filter((_, index) => index === 0 || index === sizes.length - 1) : sizes;
}

const MOST_RATIO = 1.5;
/** Messages at etcd, where the server counts also those that begin or end a watch. */
const MOST_MESSAGES = 6;

/** The time among the most candidates, in times of that among two. */
function growthOf(measured: readonly Measured[]): number | undefined {
  const [few, many] = [measured[0], measured.at(-1)].map((one) => medianOf(one?.failovers ?? [], 'tookMs'));
  return few === undefined || many === undefined || measured.length < 2 ? undefined : many / few;
}

function targetsOf({ store, name }: Contestant, measured: readonly Measured[], floor: readonly Measured[]): readonly Target[] {
  const [least, most] = [measured[0], measured.at(-1)];
  const growth = growthOf(measured);
  if (least === undefined || most === undefined || growth === undefined) return [];
  const ratio: Target = {
    what: `${name}, among ${most.candidates}, ${store}`,
    wanted: `at most ${MOST_RATIO} × the time among ${least.candidates}`,
    measured: besideFloor(growth, growthOf(floor), '×'),
    met: growth <= MOST_RATIO,
  };
  if (store !== 'etcd') return [ratio];
  const messages = measured.map(({ failovers }) => medianOf(failovers, 'requests') ?? 0);
  return [
    ratio,
    {
      what: `${name}, messages at etcd`,
      wanted: `at most ${MOST_MESSAGES}, at any number of candidates`,
      measured: `${number(messages[0] ?? 0)} among ${least.candidates}, at most ${number(Math.max(...messages))}`,
      met: Math.max(...messages) <= MOST_MESSAGES,
    },
  ];
}

export const herd: Scenario = {
  name: 'herd',
  async run(bench): Promise<Section> {
    const { quick, most, stores } = bench.options;
    const sizes = (quick ? [2, 10] : [2, 10, 100, 500, 5_000]).filter((size) => size <= most);
    const tables: Section['tables'][number][] = [];
    const targets: Target[] = [];
    for (const store of STORES.filter((name) => stores.includes(name) && name !== 'memory')) {
      const all = await bench.contestants(store);
      const crowd = all.find(({ kind, mode }) => kind === 'ours' && mode === 'resign');
      const contestants = all.filter(({ kind, name, many }) => kind === 'ours' || name === OWN_FLOOR || (kind === 'peer' && many));
      const rows: string[][] = [];
      const results = new Map<Contestant, readonly Measured[]>();
      for (const contestant of contestants) {
        const measured: Measured[] = [];
        for (const size of sizesOf(contestant, sizes)) {
          try {
            measured.push(await measure(bench, contestant, sizeOf(contestant, crowd ?? contestant, size)));
          } catch (error) {
            bench.drop({ ...contestant, name: `${contestant.name}, ${size} candidates` }, error);
            break;
          }
        }
        results.set(contestant, measured);
        for (const { candidates, failovers } of measured) {
          const max = spreadOf(failovers.map(({ tookMs }) => tookMs))?.max;
          const figures = [medianOf(failovers, 'tookMs'), max, medianOf(failovers, 'requests'), medianOf(failovers, 'perSecond')];
          rows.push([
            contestant.name,
            candidates.toLocaleString('en'),
            ...figures.map((value) => (value === undefined ? '–' : number(value))),
          ]);
        }
      }
      const floor = [...results].find(([{ name }]) => name === OWN_FLOOR)?.[1] ?? [];
      for (const [contestant, measured] of results) if (contestant.kind === 'ours') targets.push(...targetsOf(contestant, measured, floor));
      tables.push({
        title: store,
        table: { head: ['', 'candidates', 'median, ms', 'max, ms', 'requests', 'requests/s while waiting'], rows },
      });
    }
    return {
      title: 'Herd',
      method:
        `So many candidates, a session each where the library can, the leader and those that come next in one process, all others in another; the leader resigns, or hands over, several times. From just before its call to the next one being told that it leads. Requests: what the server counted from the call ` +
        `until half a second after the next one led, the resignation and the new leader's own watches included, less what it counts while all wait. ` +
        '`floor`: no election and no queue; two clients in one process take turns, by one notification and one swap each, while all others are candidates of Incumbent in the same namespace.',
      tables,
      charts: [],
      targets,
    };
  },
};
