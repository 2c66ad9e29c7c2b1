/** From the start of a process to leading: its start, its first campaign, and a later one. */

import type { Contestant } from '../harness/contestants.ts';
import { msBetween, stampOf } from '../harness/driver.ts';
import type { Bench, Scenario, Section } from '../harness/run.ts';
import { shown, spreadOf } from '../harness/spread.ts';
import { STORES } from '../harness/stage.ts';

const WARM = 3;

interface Measured {
  readonly startMs: number[];
  readonly coldMs: number[];
  readonly warmMs: number[];
}

/** One process that starts, is elected, resigns, and is elected again. */
async function once(bench: Bench, contestant: Contestant, into: Measured): Promise<void> {
  await using driver = await bench.start(contestant);
  const first = await driver.ask({ do: 'campaign' }, 'leads');
  into.startMs.push(msBetween(driver.startedAt, first.at));
  into.coldMs.push(msBetween(stampOf(first, 'since'), first.at));
  for (let i = 0; i < WARM; i += 1) {
    await driver.ask({ do: 'resign' }, 'resigned');
    const again = await driver.ask({ do: 'campaign' }, 'leads');
    into.warmMs.push(msBetween(stampOf(again, 'since'), again.at));
  }
}

async function measure(bench: Bench, contestants: readonly Contestant[]): Promise<ReadonlyMap<Contestant, Measured>> {
  const rounds = bench.options.quick ? 1 : 8;
  const all = new Map(contestants.map((contestant): [Contestant, Measured] => [contestant, { startMs: [], coldMs: [], warmMs: [] }]));
  for (let round = 0; round < rounds; round += 1) {
    for (const [contestant, into] of all) {
      try {
        await once(bench, contestant, into);
      } catch (error) {
        bench.drop(contestant, error);
        all.delete(contestant);
      }
    }
  }
  return all;
}

export const start: Scenario = {
  name: 'start',
  async run(bench): Promise<Section> {
    const tables: Section['tables'][number][] = [];
    for (const store of STORES.filter((name) => bench.options.stores.includes(name))) {
      // Both modes of Incumbent take leadership in the same way.
      const contestants = (await bench.contestants(store)).filter(({ kind, mode }) => kind !== 'floor' && mode !== 'resign');
      const measured = await measure(bench, contestants);
      const rows = [...measured].map(([{ name, kind }, { startMs, coldMs, warmMs }]) => [
        kind === 'ours' ? 'incumbent' : name,
        ...[startMs, coldMs, warmMs].map((values) => shown(spreadOf(values))),
      ]);
      tables.push({ title: store, table: { head: ['', 'process to leader, ms', 'first campaign, ms', 'later campaign, ms'], rows } });
    }
    return {
      title: 'Start',
      method:
        'One candidate, alone. Process to leader: from just before its process is started to its being told that it leads. First campaign: from its first call of the library, its client made but for some not yet connected (the commands: a ' +
        `process each time). Later campaign: the same process, having resigned, ${WARM} times. Median and middle half; contestants take turns.`,
      tables,
      charts: [],
      targets: [],
    };
  },
};
