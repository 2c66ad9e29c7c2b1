/** The evidence: a page for each check under docs/verification, a row for each time that it was run. */

import { execFileSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { arch, cpus, platform, release } from 'node:os';
import type { Check, Figures } from './checks/check.ts';

export const FOLDER: URL = new URL('../../docs/verification/', import.meta.url);

/** What a page says at its head. */
export interface Page extends Pick<Check, 'name' | 'claim' | 'method'> {
  /** What fills it: `pnpm verify` of its name by default. */
  readonly command?: string;
  /** What the claim asks for, in words. */
  readonly asks: string;
}

/** The page of a check. */
export function pageOf(check: Check): Page {
  return { ...check, asks: `${check.runs} of ${check.runs} runs` };
}

export interface Row {
  readonly seed: number;
  readonly passed: number;
  readonly failed: number;
  readonly figures: readonly Figures[];
  /** What it was measured on, besides the machine: the version of a server. */
  readonly on?: string;
  /** How many busy loops ran beside it. Default 0. */
  readonly busy?: number;
}

export function append(page: Page, row: Row): URL {
  const file = new URL(`${page.name}.md`, FOLDER);
  mkdirSync(FOLDER, { recursive: true });
  if (!existsSync(file)) writeFileSync(file, head(page));
  appendFileSync(file, lineOf(row));
  return file;
}

/** The row as the page has it, measured now. */
export function lineOf({ seed, passed, failed, figures, on, busy = 0 }: Row): string {
  const where = [...(busy === 0 ? [] : [`busy ${busy}`]), ...(on === undefined ? [] : [on]), machine()].join(', ');
  return `| ${[date(), commit(), seed, passed, failed, summary(figures), where].join(' | ')} |\n`;
}

function head({ name, claim, method, asks, command = `pnpm verify ${name}` }: Page): string {
  return [
    `# ${name}`,
    '',
    claim,
    '',
    `${method} The claim asks for ${asks}.`,
    '',
    `Written by \`${command}\`; a row a time. Figures: minimum / median / maximum over the runs that passed.`,
    '',
    '| date | commit | seed | passed | failed | figures | machine |',
    '|---|---|---|---|---|---|---|',
    '',
  ].join('\n');
}

/** Each figure over the runs. Where all are the same, or there is one run, one number says it. */
export function summary(figures: readonly Figures[]): string {
  const names = [...new Set(figures.flatMap((run) => Object.keys(run)))];
  return names.map((name) => `${name} ${spread(figures.flatMap((run) => (name in run ? [run[name] ?? 0] : [])))}`).join('; ');
}

function spread(values: readonly number[]): string {
  const sorted = values.toSorted((a, b) => a - b);
  const shown = [sorted[0], sorted[Math.floor(sorted.length / 2)], sorted.at(-1)].map((value) => Number((value ?? 0).toPrecision(4)));
  return shown[0] === shown[2] ? String(shown[0]) : shown.join(' / ');
}

/** Now, in UTC. */
export function date(): string {
  return new Date().toISOString().slice(0, 16).replace('T', ' ');
}

/** The commit that was measured; with a + where the tree had changes of its own, the ledger's left out. */
export function commit(): string {
  const git = (...args: readonly string[]): string => execFileSync('git', args, { encoding: 'utf8' }).trim();
  const changed = git('status', '--porcelain', '--', ':(top)', ':(top,exclude)docs/verification');
  return `${git('rev-parse', '--short', 'HEAD')}${changed === '' ? '' : '+'}`;
}

/** Where it is measured. */
export function machine(): string {
  const [cpu] = cpus();
  return `${platform()} ${release().split('-')[0]} ${arch()}, ${cpus().length} × ${cpu?.model.trim() ?? 'unknown'}, Node ${process.versions.node}`;
}
