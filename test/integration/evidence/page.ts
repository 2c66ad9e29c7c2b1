/** The page that summarizes the evidence: one row for each claim. */

import type { RunLine, Spread } from './runs.ts';
import { runsPassed } from './worlds.ts';

/** A claim, and how it is measured. */
export interface Claim {
  readonly name: string;
  /** What must hold, in one sentence. */
  readonly claim: string;
  readonly method: string;
  /** The command that measures the claim and adds a line. */
  readonly command: string;
  /** What the claim needs: `20 of 20 runs`. */
  readonly asks: string;
  /**
   * For simulated worlds: how many seeds one run has, and since when (UTC) worlds count. The page
   * then counts worlds.
   */
  readonly worlds?: { readonly seedsPerRun: number; readonly since: string };
  /**
   * Whether only the latest line of each part counts. This is so for planted bugs, which are
   * searched for anew each time.
   */
  readonly latestOfPart?: boolean;
}

/**
 * The figures that show how close a run came to breaking its claim, the most telling first. If none
 * applies, the first figure counts.
 */
const TELLING: readonly (readonly [figure: string, worst: 'least' | 'greatest'])[] = [
  ['marginMs', 'least'],
  ['stale', 'greatest'],
  ['absent', 'greatest'],
  ['overlapMs', 'greatest'],
  ['longestOverlapMs', 'greatest'],
  ['requests', 'greatest'],
  ['recoveredAfter', 'greatest'],
  ['failoverMs', 'greatest'],
  ['nextMs', 'greatest'],
  ['gapMs', 'greatest'],
  ['leadersMs', 'greatest'],
  ['worlds', 'greatest'],
  ['terms', 'greatest'],
];

export function pageOf(claims: readonly Claim[], lines: readonly RunLine[]): string {
  const byClaim = Map.groupBy(lines, ({ claim }) => claim);
  const measured = claims.filter(({ name }) => byClaim.has(name));
  return [
    '# Verification',
    '',
    'This page lists every claim of the project that has a number, with the command that measures it. The file',
    '[runs.jsonl](runs.jsonl) has one line for each measurement: claim, date, commit, seed, how many runs passed and',
    'failed, the figures (least, median, greatest) and the machine. `pnpm evidence` generates this page from it.',
    '',
    'The column *runs* counts the runs that passed in all measurements. A world of the simulator counts once for',
    'each seed, and only since the checkers know the promises of today. The column *failures* counts every run that',
    'ever failed, also those whose cause was fixed since. The worst figure is that of all runs.',
    '',
    '| claim | command | asked for | runs | failures | worst figure | last commit |',
    '|---|---|---|---|---|---|---|',
    ...measured.map((claim) => rowOf(claim, byClaim.get(claim.name) ?? [])),
    '',
    '## How each is measured',
    '',
    ...measured.flatMap(({ name, claim, method }) => [`### ${name}`, '', claim, '', method, '']),
  ].join('\n');
}

function rowOf(claim: Claim, all: readonly RunLine[]): string {
  const lines = claim.latestOfPart === true ? latestOfParts(all) : all;
  const last = lines.at(-1);
  const cells = [
    `[${claim.name}](#${claim.name.toLowerCase()})`,
    `\`${claim.command}\``,
    claim.asks,
    passedOf(claim, lines),
    failuresOf(lines),
    worstOf(lines),
    last === undefined ? '' : `${last.commit}, ${last.date.slice(0, 10)}`,
  ];
  return `| ${cells.join(' | ')} |`;
}

function latestOfParts(lines: readonly RunLine[]): readonly RunLine[] {
  return [...new Map(lines.map((line) => [line.part, line])).values()];
}

function passedOf({ worlds }: Claim, lines: readonly RunLine[]): string {
  if (worlds === undefined) return String(lines.reduce((sum, { passed }) => sum + passed, 0));
  return `${runsPassed(lines, worlds.seedsPerRun, worlds.since) * worlds.seedsPerRun} worlds`;
}

/** All failures so far, and how many runs have passed since the last one. */
function failuresOf(lines: readonly RunLine[]): string {
  const failures = lines.reduce((sum, { failed }) => sum + failed, 0);
  if (failures === 0) return '0';
  const since = lines.slice(lines.findLastIndex(({ failed }) => failed > 0) + 1).reduce((sum, { passed }) => sum + passed, 0);
  return `${failures}, none in the last ${since} runs`;
}

function worstOf(lines: readonly RunLine[]): string {
  const figures = new Set(lines.flatMap((line) => Object.keys(line.figures)));
  const [first] = figures;
  const telling = TELLING.find(([name]) => figures.has(name)) ?? (first === undefined ? undefined : ([first, 'greatest'] as const));
  if (telling === undefined) return '';
  const [name, worst] = telling;
  const values = lines.flatMap((line) => spreadIn(line, name)).map(([least, , greatest]) => (worst === 'least' ? least : greatest));
  return `${name} ${worst === 'least' ? Math.min(...values) : Math.max(...values)}`;
}

function spreadIn(line: RunLine, name: string): readonly Spread[] {
  const spread = line.figures[name];
  return spread === undefined ? [] : [spread];
}
