/**
 * `pnpm chaos --store etcd|zookeeper|consul|kubernetes|redis|postgres|sqlite [--minutes N]
 * [--seed S] [--members M] [--newer] [--forgets] [--only FAULT,…] [--folder PATH] [--keep]
 * [--no-evidence]`: runs elections on a real cluster under faults that are drawn from the seed.
 * Then runs the checker, prints a table, draws a picture, and adds a line to the evidence. Exits
 * with a code other than 0 if a promise was broken, or if too little happened to tell; only then,
 * or with `--keep`, the history stays in the folder. `--newer` uses the store's newer version, and
 * `--forgets` a Redis that loses its data when it is killed. With `--only` the evidence names the
 * faults. `pnpm chaos --check FILE` checks a recorded history. `pnpm chaos --mutants` plants a few
 * bugs, one at a time, and reports how each is found.
 */

import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { numberOption } from '@incumbent/test-support/number-option';
import { judge, type Verdict } from '../test/chaos/check/verdict.ts';
import { readHistory, type ChaosEvent } from '../test/chaos/history.ts';
import { enter } from '../test/chaos/evidence.ts';
import { search } from '../test/chaos/mutants/search.ts';
import { pictureOf } from '../test/chaos/picture/picture.ts';
import { run } from '../test/chaos/run.ts';
import { isStoreName, sites } from '../test/chaos/site/index.ts';
import { claims } from '../test/integration/evidence/claims.ts';
import { pageOf } from '../test/integration/evidence/page.ts';
import { PAGE, readLines } from '../test/integration/evidence/runs.ts';
import { tableOf } from '../test/chaos/table.ts';

const { values } = parseArgs({
  options: {
    store: { type: 'string', default: 'etcd' },
    minutes: { type: 'string', default: '5' },
    seed: { type: 'string' },
    members: { type: 'string', default: '4' },
    newer: { type: 'boolean', default: false },
    folder: { type: 'string', default: 'node_modules/.cache/chaos' },
    forgets: { type: 'boolean', default: false },
    only: { type: 'string' },
    check: { type: 'string' },
    evidence: { type: 'boolean', default: true },
    mutants: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
  },
  allowNegative: true,
});

if (values.mutants) process.exitCode = (await search((line) => console.log(line))) > 0 ? 1 : 0;
else process.exitCode = values.check === undefined ? await chaos() : report(readHistory(readFileSync(values.check, 'utf8')));

async function chaos(): Promise<number> {
  const { store, folder } = values;
  const [minutes, seed] = [Number(values.minutes), Number(values.seed ?? Date.now() % 1e6)];
  const members = numberOption('members', values.members, { from: 2, to: 100 });
  const hasVersions = !['sqlite', 'consul', 'kubernetes'].includes(store);
  const isPossible = (hasVersions || !values.newer) && (store === 'redis' || !values.forgets);
  if (!isStoreName(store) || !(minutes >= 0.5) || !Number.isInteger(seed) || !isPossible) {
    console.error(
      `usage: pnpm chaos --store ${Object.keys(sites).join('|')} [--minutes N, 0.5 or more] [--seed S] [--members M] [--only FAULT,…]\n` +
        '  etcd, zookeeper, redis, postgres: [--newer]; redis: [--forgets]',
    );
    return 2;
  }
  const { history, file } = await run({
    store,
    version: values.newer ? 'newer' : 'default',
    forgets: values.forgets,
    ...(values.only === undefined ? {} : { only: values.only.split(',') }),
    members,
    minutes,
    seed,
    folder,
    say: (line) => console.log(line),
  });
  const verdict = judge(history);
  const isBroken = show(history, verdict) > 0;
  const picture = join(folder, `chaos-${store}-${seed}.svg`);
  writeFileSync(picture, pictureOf(history));
  console.log(`  picture: ${picture}`);
  if (values.evidence) {
    enter(history, verdict, values.only);
    writeFileSync(PAGE, pageOf(claims, readLines()));
  }
  if (isBroken) {
    const again = [...process.argv.slice(2), ...(values.seed === undefined ? ['--seed', String(seed)] : [])];
    console.log(`  the history is kept: ${file}; the same plan again: pnpm chaos ${again.join(' ')}`);
  } else if (!values.keep) rmSync(file);
  return isBroken ? 1 : 0;
}

function report(history: readonly ChaosEvent[]): number {
  return show(history, judge(history)) > 0 ? 1 : 0;
}

function show(history: readonly ChaosEvent[], verdict: Verdict): number {
  for (const line of tableOf(history, verdict)) console.log(line);
  return verdict.violations.length + verdict.missing.length;
}
