/** RESULTS.md and its charts. A scenario that is run again takes the place of its own section, and leaves the others as they are. */

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { Section, Table, Target } from '../harness/run.ts';
import { drawn } from './chart.ts';
import { commit, date, load, machine } from './where.ts';

/** How a section came about. */
export interface Circumstances {
  readonly quick: boolean;
  /** Of servers. */
  readonly versions: readonly string[];
  /** Contestants that could not be had, or failed, and why. */
  readonly missing: ReadonlyMap<string, string>;
}

const TARGETS: Table = { head: ['what', 'target', 'measured', ''], rows: [] };

export function write(folder: URL, section: Section, circumstances: Circumstances): void {
  mkdirSync(new URL('charts/', folder), { recursive: true });
  for (const chart of section.charts) writeFileSync(new URL(`charts/${chart.name}.svg`, folder), drawn(chart));
  const page = new URL('RESULTS.md', folder);
  const sections = new Map(existsSync(page) ? sectionsOf(readFileSync(page, 'utf8')) : []);
  sections.set(section.title, textOf(section, circumstances));
  writeFileSync(page, pageOf([...sections.values()]));
}

/** What a page has, by title, but for what is made of its sections. */
function sectionsOf(page: string): readonly (readonly [string, string])[] {
  const parts = page.split(/^(?=## )/m).slice(1);
  const titled = parts.map((text): readonly [string, string] => [/^## (.*)$/m.exec(text)?.[1] ?? '', text.trimEnd()]);
  return titled.filter(([title]) => title !== 'Targets');
}

function pageOf(sections: readonly string[]): string {
  const head = tableOf(TARGETS).join('\n');
  const targets = sections.flatMap((text) => (text.split(`${head}\n`)[1] ?? '').split('\n\n')[0]?.split('\n') ?? []);
  return [
    '# Results',
    '',
    'Written by `pnpm bench`; how it is measured: [README.md](README.md). Times of one table were measured side by side: trust the ratios in it, not a single millisecond. Where the load average is',
    'above the number of processors, others used the machine meanwhile, and single times are too long.',
    '',
    '## Targets',
    '',
    head,
    ...targets.filter((line) => line !== ''),
    ...sections.flatMap((text) => ['', text]),
    '',
  ].join('\n');
}

function textOf({ title, method, tables, charts, targets }: Section, { quick, versions, missing }: Circumstances): string {
  const where = [
    date(),
    `commit ${commit()}`,
    machine(),
    ...(versions.length === 0 ? [] : [versions.join(', ')]),
    `load average ${load()}`,
  ];
  return [
    `## ${title}`,
    '',
    method,
    '',
    `*${where.join('; ')}.*${quick ? ' **A quick run: it shows that everything works, and its figures nothing.**' : ''}`,
    ...(missing.size === 0 ? [] : ['', 'Not there, or failed:', '', ...[...missing].map(([name, why]) => `- ${name}: ${why}`)]),
    ...charts.flatMap((chart) => ['', `![${chart.title}](charts/${chart.name}.svg)`]),
    ...tables.flatMap((each) => ['', ...(each.title === undefined ? [] : [`### ${each.title}`, '']), ...tableOf(each.table)]),
    ...(targets.length === 0 ? [] : ['', ...tableOf({ ...TARGETS, rows: rowsOf(targets) })]),
  ].join('\n');
}

function rowsOf(targets: readonly Target[]): Table['rows'] {
  const word = { true: 'met', false: '**not met**', undefined: 'not measured' };
  return targets.map(({ what, wanted, measured, met }) => [what, wanted, measured, word[`${met}`]]);
}

function tableOf({ head, rows }: Table): readonly string[] {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map((_, index) => (index === 0 ? '---' : '---:'))), ...rows.map(line)];
}
