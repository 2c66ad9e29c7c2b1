/**
 * Writes RESULTS.md and its charts. The section and the targets of a scenario that is run again
 * replace the former ones. A section of all stores also replaces those of single stores. The other
 * scenarios keep theirs.
 */

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { Section, Table } from '../harness/run.ts';
import { drawn } from './chart.ts';
import { commit, date, load, machine } from './where.ts';

/** The conditions of a section. */
export interface Circumstances {
  readonly quick: boolean;
  /** The versions of the servers. */
  readonly versions: readonly string[];
  /** Contestants that were not available or failed, and the reasons. */
  readonly missing: ReadonlyMap<string, string>;
}

const TARGETS = '## Targets';
const TARGETS_HEAD: Table['head'] = ['scenario', 'what', 'target', 'measured', ''];

/** The section of a run for some of the stores only, which stands beside that of all stores. */
export function ofStores(section: Section, stores: readonly string[]): Section {
  if (stores.length === 0) return section;
  return {
    ...section,
    title: `${section.title}: ${stores.join(', ')}`,
    charts: section.charts.map((chart) => ({ ...chart, name: [chart.name, ...stores].join('-') })),
  };
}

export function write(folder: URL, section: Section, circumstances: Circumstances): void {
  mkdirSync(new URL('charts/', folder), { recursive: true });
  for (const chart of section.charts) writeFileSync(new URL(`charts/${chart.name}.svg`, folder), drawn(chart));
  const page = new URL('RESULTS.md', folder);
  const before = existsSync(page) ? readFileSync(page, 'utf8') : '';
  const others = sectionsOf(before).filter(([title]) => !title.startsWith(`${section.title}: `));
  const latest = new Map(others).set(section.title, textOf(section, circumstances));
  const sections = new Map(byScenario([...latest]));
  const targets = targetsOf(before).set(linkTo(section.title), rowsOf(section));
  const rows = [...sections.keys()].flatMap((title) => targets.get(linkTo(title)) ?? []);
  writeFileSync(page, pageOf([...sections.values()], rows));
}

function partsOf(page: string): readonly string[] {
  return page.split(/^(?=## )/m).slice(1);
}

/** The sections of scenarios in a page, by title. */
function sectionsOf(page: string): readonly (readonly [string, string])[] {
  const sections = partsOf(page).filter((text) => !text.startsWith(TARGETS));
  return sections.map((text) => [/^## (.*)$/m.exec(text)?.[1] ?? '', text.trimEnd()]);
}

/** Puts the sections of one scenario next to each other. Keeps the order otherwise. */
function byScenario(sections: readonly (readonly [string, string])[]): readonly (readonly [string, string])[] {
  const scenarios = Map.groupBy(sections, ([title]) => title.split(':')[0]);
  return [...scenarios.values()].flat();
}

/** The rows of the table of targets in a page, by their first cell, the link to the scenario. */
function targetsOf(page: string): Map<string, Table['rows']> {
  const text = partsOf(page).find((part) => part.startsWith(TARGETS)) ?? '';
  const lines = text.split('\n').filter((line) => line.startsWith('| ['));
  return Map.groupBy(
    lines.map((line) => line.slice(2, -2).split(' | ')),
    ([link = '']) => link,
  );
}

function pageOf(sections: readonly string[], targets: Table['rows']): string {
  return [
    '# Results',
    '',
    'Written by `pnpm bench`. [README.md](README.md) describes the method. The times of one table were',
    'measured side by side: trust the ratios in a table more than single times. A load average above the',
    'number of processors means that other programs used the machine, so that single times are too long.',
    '',
    TARGETS,
    '',
    ...tableOf({ head: TARGETS_HEAD, rows: targets }),
    ...sections.flatMap((text) => ['', text]),
    '',
  ].join('\n');
}

function linkTo(title: string): string {
  return `[${title}](#${title
    .toLowerCase()
    .replaceAll(/[^\w -]/g, '')
    .replaceAll(' ', '-')})`;
}

function textOf({ title, method, tables, charts }: Section, { quick, versions, missing }: Circumstances): string {
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
  ].join('\n');
}

function rowsOf({ title, targets }: Section): Table['rows'] {
  const word = { true: 'met', false: '**not met**', undefined: 'not measured' };
  return targets.map(({ what, wanted, measured, met }) => [linkTo(title), what, wanted, measured, word[`${met}`]]);
}

function tableOf({ head, rows }: Table): readonly string[] {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map((_, index) => (index === 0 ? '---' : '---:'))), ...rows.map(line)];
}
