/** RESULTS.md and its charts. */

import { mkdirSync, writeFileSync } from 'node:fs';
import type { Section, Table, Target } from '../harness/run.ts';
import { drawn } from './chart.ts';
import { commit, date, load, machine } from './where.ts';

export interface Results {
  readonly quick: boolean;
  readonly sections: readonly Section[];
  /** Of servers. */
  readonly versions: readonly string[];
  /** Contestants that could not be had, and why. */
  readonly missing: ReadonlyMap<string, string>;
}

export async function write(folder: URL, results: Results): Promise<void> {
  mkdirSync(new URL('charts/', folder), { recursive: true });
  for (const chart of results.sections.flatMap(({ charts }) => charts)) {
    writeFileSync(new URL(`charts/${chart.name}.svg`, folder), drawn(chart));
  }
  writeFileSync(new URL('RESULTS.md', folder), pageOf(results));
}

function pageOf({ quick, sections, versions, missing }: Results): string {
  const targets = sections.flatMap((section) => section.targets);
  return [
    '# Results',
    '',
    `Written by \`pnpm bench${quick ? ' --quick' : ''}\` on ${date()}, commit ${commit()}, ${machine()}; ${versions.join(', ')}; load average at its end ${load()}. How it is measured: [README.md](README.md).`,
    'Times of one table were measured side by side: trust the ratios in it, not a single millisecond.',
    ...(quick ? ['', '**A quick run**: it shows that everything works, and its figures nothing.'] : []),
    ...(missing.size === 0 ? [] : ['', 'Not there on this machine:', '', ...[...missing].map(([name, why]) => `- ${name}: ${why}`)]),
    ...(targets.length === 0 ? [] : ['', '## Targets', '', ...tableOf(targetTable(targets))]),
    ...sections.flatMap(sectionOf),
    '',
  ].join('\n');
}

function sectionOf({ title, method, tables, charts }: Section): readonly string[] {
  return [
    '',
    `## ${title}`,
    '',
    method,
    ...charts.flatMap((chart) => ['', `![${chart.title}](charts/${chart.name}.svg)`]),
    ...tables.flatMap((each) => ['', ...(each.title === undefined ? [] : [`### ${each.title}`, '']), ...tableOf(each.table)]),
  ];
}

function targetTable(targets: readonly Target[]): Table {
  const word = { true: 'met', false: '**not met**', undefined: 'not measured' };
  return {
    head: ['what', 'target', 'measured', ''],
    rows: targets.map(({ what, wanted, measured, met }) => [what, wanted, measured, word[`${met}`]]),
  };
}

function tableOf({ head, rows }: Table): readonly string[] {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map((_, index) => (index === 0 ? '---' : '---:'))), ...rows.map(line)];
}
