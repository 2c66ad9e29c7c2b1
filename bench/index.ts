/**
 * `pnpm bench [--quick] [--only scenario] [--store name] [--most N] [--sources] [--out folder]`:
 * compares Incumbent with its alternatives on the same servers in the same run. Writes RESULTS.md
 * and its charts, here or in the folder. It replaces the sections of the scenarios that ran, and
 * keeps the others. A run for some of the stores has sections of its own.
 */

import { parseArgs } from 'node:util';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { numberOption } from '@incumbent/test-support/number-option';
import { OpenBench } from './harness/run.ts';
import { isStore, openStage, STORES } from './harness/stage.ts';
import { ofStores, write } from './report/write.ts';
import { scenarios } from './scenarios/index.ts';

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    sources: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true, default: [] },
    store: { type: 'string', multiple: true, default: [] },
    most: { type: 'string', default: '10000' },
    out: { type: 'string', default: fileURLToPath(new URL('.', import.meta.url)) },
  },
});

const chosen = scenarios.filter(({ name }) => values.only.length === 0 || values.only.includes(name));
const stores = values.store.length === 0 ? STORES : values.store.filter(isStore);
if (chosen.length === 0 || stores.length === 0) {
  console.error(`--only: ${scenarios.map(({ name }) => name).join(', ')}; --store: ${STORES.join(', ')}`);
  process.exit(2);
}

const most = numberOption('most', values.most, { from: 1 });
await using bench = new OpenBench({ quick: values.quick, built: !values.sources, stores, most }, openStage);
let failed = 0;
const folder = pathToFileURL(`${values.out}/`);
for (const scenario of chosen) {
  console.log(`${scenario.name} …`);
  try {
    const section = ofStores(await scenario.run(bench), values.store.length === 0 ? [] : stores);
    write(folder, section, { quick: values.quick, versions: bench.versions(), missing: bench.missing });
    bench.missing.clear();
    for (const { title = '', table } of section.tables) {
      console.log(title);
      for (const row of [table.head, ...table.rows]) console.log(`  ${row.join(' | ')}`);
    }
    for (const { what, wanted, measured, met } of section.targets) {
      console.log(`  ${met === true ? 'met' : 'NOT met'}: ${what}: ${wanted}: ${measured}`);
    }
  } catch (error) {
    failed += 1;
    console.error(`${scenario.name} failed:`, error);
  }
}
console.log(fileURLToPath(new URL('RESULTS.md', folder)));
process.exitCode = failed;
