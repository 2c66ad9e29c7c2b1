/** How long it takes until the last of many observers has seen the next leader. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Contestant } from '../harness/contestants.ts';
import { msBetween, stampOf } from '../harness/driver.ts';
import type { Bench, Scenario, Section, Target } from '../harness/run.ts';
import { number, shown, spreadOf, type Spread } from '../harness/spread.ts';
import { freshNamespace, STORES } from '../harness/stage.ts';

const WITHIN_MS = 60_000;
const TARGET_MS = 150;

async function measure(bench: Bench, contestant: Contestant, observers: number): Promise<Spread | undefined> {
  const namespace = freshNamespace();
  await using a = await bench.start(contestant, { namespace });
  await using b = await bench.start(contestant, { namespace });
  await using looking = await bench.start(contestant, { namespace });
  await a.ask({ do: 'campaign', as: 'a' }, 'leads');
  b.send({ do: 'campaign', as: 'b' });
  looking.send({ do: 'observe', as: 'o', times: observers });
  await looking.waitFor('told', { withinMs: WITHIN_MS });
  await sleep(1_000);
  let [leader, next, as, nextAs] = [a, b, 'a', 'b'];
  const tookMs: number[] = [];
  for (let turn = 0; turn < (bench.options.quick ? 2 : 6); turn += 1) {
    const [from, own] = [looking.events.length, leader.events.length];
    leader.send({ do: 'resign', as });
    const told = await looking.waitFor('told', { from, withinMs: WITHIN_MS });
    const resigned = await leader.waitFor('resigned', { from: own });
    tookMs.push(msBetween(stampOf(resigned, 'since'), told.at));
    leader.send({ do: 'campaign', as });
    [leader, next, as, nextAs] = [next, leader, nextAs, as];
    await sleep(300);
  }
  return spreadOf(tookMs);
}

export const observers: Scenario = {
  name: 'observers',
  async run(bench): Promise<Section> {
    const { quick, most, stores } = bench.options;
    const sizes = (quick ? [1, 10] : [1, 100, 1_000, 5_000]).filter((size) => size <= most);
    const rows: string[][] = [];
    const targets: Target[] = [];
    for (const store of STORES.filter((name) => stores.includes(name) && name !== 'memory')) {
      for (const contestant of (await bench.contestants(store)).filter(({ observes, mode }) => observes && mode !== 'handover')) {
        for (const size of sizes) {
          try {
            const spread = await measure(bench, contestant, size);
            rows.push([store, contestant.name, size.toLocaleString('en'), shown(spread), number(spread?.max ?? NaN)]);
            if (contestant.kind === 'ours' && store === 'etcd' && size === 5_000 && spread !== undefined) {
              const what = 'observers, 5,000 on one election, etcd';
              targets.push({
                what,
                wanted: `the last one told within ${TARGET_MS} ms`,
                measured: `${number(spread.median)} ms, at most ${number(spread.max)}`,
                met: spread.max <= TARGET_MS,
              });
            }
          } catch (error) {
            bench.drop({ ...contestant, name: `${contestant.name}, ${size} observers` }, error);
            break;
          }
        }
      }
    }
    return {
      title: 'Observers',
      method:
        "So many of the library's own observers in one process, of one election; its leader, in another, resigns, and the next one leads, in a third. From just before the leader's call to the last observer being told of the next leader, in ms.",
      tables: [{ table: { head: ['', '', 'observers', 'the last one told, ms', 'max'], rows } }],
      charts: [],
      targets,
    };
  },
};
