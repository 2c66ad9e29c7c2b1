/** The cost of elections while nothing happens. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Contestant } from '../harness/contestants.ts';
import type { Driver } from '../harness/driver.ts';
import type { Bench, Scenario, Section, Target } from '../harness/run.ts';
import { number } from '../harness/spread.ts';
import { STORES } from '../harness/stage.ts';

const WITHIN_MS = 300_000;
/** Campaigns that start at the same time. */
const AT_ONCE = 100;

interface Measured {
  readonly elections: number;
  readonly perSecond: number | undefined;
  readonly cpuPercent: number;
  readonly rssKb: number;
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
    wonMs,
  };
}

/** On Kubernetes, one object has the keys of all elections, and it can take 1 MB. */
function mostOf({ kind, store }: Contestant): number {
  return kind === 'ours' && store !== 'kubernetes' ? 10_000 : 1_000;
}

const MOST_KB = 8;
const MOST_CPU_PERCENT = 1;

function targetsOf({ store }: Contestant, one: Measured, all: readonly Measured[]): readonly Target[] {
  return all.flatMap((measured): readonly Target[] => {
    const kb = (measured.rssKb - one.rssKb) / measured.elections;
    switch (measured.elections) {
      case 1_000:
        return [
          {
            what: `idle, 1,000 elections, ${store}`,
            wanted: `at most ${MOST_KB} KB each`,
            measured: `${number(kb)} KB`,
            met: kb <= MOST_KB,
          },
        ];
      case 10_000:
        // Its watches read the file.
        if (store === 'sqlite') return [];
        return [
          {
            what: `idle, 10,000 elections, ${store}`,
            wanted: `under ${MOST_CPU_PERCENT} % of a processor`,
            measured: `${number(measured.cpuPercent)} %`,
            met: measured.cpuPercent < MOST_CPU_PERCENT,
          },
        ];
      default:
        return [];
    }
  });
}

export const idle: Scenario = {
  name: 'idle',
  async run(bench): Promise<Section> {
    const { quick, most, stores } = bench.options;
    const sizes = (quick ? [1, 10] : [1, 1_000, 10_000]).filter((size) => size <= most);
    const tables: Section['tables'][number][] = [];
    const targets: Target[] = [];
    for (const store of STORES.filter((name) => stores.includes(name))) {
      const contestants = (await bench.contestants(store)).filter(
        ({ kind, mode, many }) => kind !== 'floor' && many && mode !== 'handover',
      );
      const rows: string[][] = [];
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
        const [one] = all;
        if (one === undefined) continue;
        for (const [index, { elections, perSecond, cpuPercent, rssKb, wonMs }] of all.entries()) {
          const each = elections === 1 ? '–' : number((rssKb - one.rssKb) / elections);
          const before = all[index - 1];
          const further = before === undefined ? '–' : number((rssKb - before.rssKb) / (elections - before.elections));
          const name = contestant.kind === 'ours' ? 'incumbent' : contestant.name;
          const cells = [
            perSecond === undefined ? '–' : number(perSecond),
            number(cpuPercent),
            number(rssKb / 1_024),
            each,
            further,
            number(wonMs),
          ];
          rows.push([name, elections.toLocaleString('en'), ...cells]);
        }
        if (contestant.kind === 'ours') targets.push(...targetsOf(contestant, one, all));
      }
      const head = [
        '',
        'elections',
        'requests/s',
        'processor, %',
        'memory, MB',
        'KB for each',
        'KB for each further one',
        'to win them all, ms',
      ];
      tables.push({ title: store, table: { head, rows } });
    }
    return {
      title: 'Idle',
      method:
        'One process leads so many elections, on one session where the library can, ttl 10 s. Over 6 s, after a collection of garbage that gives memory back (in Node: V8’s last resort): requests as the server counts them, renewals included; processor time and resident memory as the kernel counts ' +
        'them, of the whole process. KB for each: over the same process with one election; ' +
        'for each further one: over the row above, as the first thousand also pay for what a runtime makes ready to run often.',
      tables,
      charts: [],
      targets,
    };
  },
};
