/**
 * The evidence: every run of every claim is one line of `docs/verification/runs.jsonl`. `page.ts`
 * summarizes the lines.
 */

import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, readFileSync } from 'node:fs';
import { arch, cpus, platform, release } from 'node:os';
import type { Figures } from '../checks/check.ts';

/**
 * The least, the median and the greatest value of a figure over the runs of one line, to four
 * digits.
 */
export type Spread = readonly [least: number, median: number, greatest: number];

/** What is measured, as the caller knows it. */
export interface NewLine {
  /** The claim's name, for example `redis-blackhole`. */
  readonly claim: string;
  /**
   * The part of the claim that this line is about: one planted bug, or the faults that a run was
   * restricted to.
   */
  readonly part?: string;
  /** The seed of the first run. */
  readonly seed: number;
  /** How many runs passed and failed. */
  readonly passed: number;
  readonly failed: number;
  readonly figures: Readonly<Record<string, Spread>>;
  /** What it was measured on besides the machine, such as the version of a server. */
  readonly on?: string;
  /** How many busy loops ran at the same time. Absent if none. */
  readonly busy?: number;
  /**
   * For a planted bug: the promise whose check found it, and the simulator's profile of that world.
   */
  readonly promise?: string;
  readonly profile?: string;
}

/** One line of the data file. */
export interface RunLine extends NewLine {
  /** UTC, to the minute: `2026-11-24 23:59`. */
  readonly date: string;
  /**
   * The commit that was measured, with a `+` if the work tree had changes other than the evidence.
   */
  readonly commit: string;
  readonly machine: string;
}

const FOLDER = new URL('../../../docs/verification/', import.meta.url);
const RUNS: URL = new URL('runs.jsonl', FOLDER);
export const PAGE: URL = new URL('README.md', FOLDER);

/** Adds a line with the current time, the commit and the machine. */
export function append(line: NewLine): void {
  mkdirSync(FOLDER, { recursive: true });
  const whole: RunLine = { ...line, date: date(), commit: commit(), machine: machine() };
  appendFileSync(RUNS, `${JSON.stringify(whole)}\n`);
}

/** All lines, oldest first. */
export function readLines(): readonly RunLine[] {
  return linesIn(readFileSync(RUNS, 'utf8'));
}

function linesIn(text: string): readonly RunLine[] {
  const lines = text.split('\n').filter((line) => line !== '');
  return lines.map((line): RunLine => JSON.parse(line)).toSorted((a, b) => (a.date < b.date ? -1 : Number(a.date > b.date)));
}

/** Each figure over several runs. */
export function spreadOf(runs: readonly Figures[]): Readonly<Record<string, Spread>> {
  const names = [...new Set(runs.flatMap((run) => Object.keys(run)))];
  return Object.fromEntries(
    names.map((name) => {
      const sorted = runs.flatMap((run) => run[name] ?? []).toSorted((a, b) => a - b);
      const [least = 0, median = 0, greatest = 0] = [sorted[0], sorted[Math.floor(sorted.length / 2)], sorted.at(-1)].map(rounded);
      return [name, [least, median, greatest]] as const;
    }),
  );
}

function rounded(value = 0): number {
  return Number(value.toPrecision(4));
}

/** Figures for people: one number if all runs had the same, otherwise least / median / greatest. */
export function summary(runs: readonly Figures[]): string {
  return Object.entries(spreadOf(runs))
    .map(([name, [least, median, greatest]]) => `${name} ${least === greatest ? least : `${least} / ${median} / ${greatest}`}`)
    .join('; ');
}

function date(): string {
  return new Date().toISOString().slice(0, 16).replace('T', ' ');
}

export function commit(): string {
  const git = (...args: readonly string[]): string => execFileSync('git', args, { encoding: 'utf8' }).trim();
  const changed = git('status', '--porcelain', '--', ':(top)', ':(top,exclude)docs/verification');
  return `${git('rev-parse', '--short', 'HEAD')}${changed === '' ? '' : '+'}`;
}

function machine(): string {
  const [cpu] = cpus();
  return `${platform()} ${release().split('-')[0]} ${arch()}, ${cpus().length} × ${cpu?.model.trim() ?? 'unknown'}, Node ${process.versions.node}`;
}
