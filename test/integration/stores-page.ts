/** Generates the table and the notes of docs/stores.md from the capabilities of open stores. */

import { readFileSync } from 'node:fs';
import type { StoreCapabilities } from '@incumbent/core';

export const PAGE: URL = new URL('../../docs/stores.md', import.meta.url);

const [BEGIN, END] = ['<!-- capabilities: written by `pnpm stores` -->', '<!-- end -->'];

/** A column of the table: its title, and the store's capabilities. */
export interface Column {
  readonly title: string;
  readonly capabilities: StoreCapabilities;
}

/** The ttl of the table's examples: the default. */
const TTL_MS = 10_000;

/** The shortest and longest ttl that a member accepts on any store. */
const [SHORTEST_MS, LONGEST_MS] = [250, 86_400_000];

const rows: readonly (readonly [string, (capabilities: StoreCapabilities) => string])[] = [
  ['linearizable', ({ linearizable }) => (linearizable ? 'yes' : '**no**: needs `acceptWeakStore`')],
  ['terms', ({ termSource }) => (termSource === 'counter' ? 'counted from 1' : "start at the server's clock")],
  ['shortest ttl', ({ minTtlMs }) => duration(Math.max(minTtlMs, SHORTEST_MS))],
  ['longest ttl', ({ maxTtlMs }) => duration(Math.min(maxTtlMs, LONGEST_MS))],
  [`a lease of ${duration(TTL_MS)} without renewals expires within`, (capabilities) => duration(capabilities.expiresWithinMs(TTL_MS))],
  [
    'and when its process has died, within',
    ({ expiresOnExitWithinMs }) => (expiresOnExitWithinMs === undefined ? 'the same' : duration(expiresOnExitWithinMs)),
  ],
  ['handover', ({ assignableLease }) => (assignableLease ? 'one swap: the key is never absent' : 'two steps')],
  [
    'an acknowledged renewal guarantees the ttl from',
    ({ renewalLag = 0 }) => (renewalLag === 0 ? 'its own sending' : 'the sending of the previous renewal'),
  ],
  [
    'a call that follows one to a silent server is answered within',
    ({ reconnectsWithinMs = 0 }) => (reconnectsWithinMs === 0 ? 'no server' : duration(reconnectsWithinMs)),
  ],
  ['revisions after a key is created again', ({ revisionsSurviveDeletion }) => (revisionsSurviveDeletion ? 'never repeat' : 'start again')],
  ['may end a lease that is being renewed', ({ endsEarly }) => (endsEarly === undefined ? 'no' : 'yes: see below')],
  ['most changes of one swap', ({ maxChanges }) => count(maxChanges)],
  ['of these, yours in `leadership.swap`', ({ maxChanges }) => count(maxChanges - 1)],
  ['most bytes of a value', ({ maxValueBytes }) => count(maxValueBytes)],
  ['most bytes of all keys and values together', ({ maxTotalBytes }) => (maxTotalBytes === undefined ? 'no limit' : count(maxTotalBytes))],
  ['most keys of one lease', ({ maxKeysPerLease }) => count(maxKeysPerLease)],
];

/** The page with its table and its notes replaced by those of these columns. */
export function pageOf(columns: readonly Column[]): string {
  const page = readFileSync(PAGE, 'utf8');
  const [before, after] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (before < 0 || after < before) throw new Error(`${PAGE.pathname} has no place for the table`);
  return `${page.slice(0, before + BEGIN.length)}\n${tableOf(columns)}\n\n${notesOf(columns)}\n${page.slice(after)}`;
}

function tableOf(columns: readonly Column[]): string {
  const lines = [
    ['', ...columns.map(({ title }) => title)],
    ['---', ...columns.map(() => '---')],
    ...rows.map(([title, say]) => [title, ...columns.map(({ capabilities }) => say(capabilities))]),
  ];
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** Why each of the stores that may end a lease early does so: too long for the table. */
function notesOf(columns: readonly Column[]): string {
  const notes = columns.flatMap(({ title, capabilities: { endsEarly } }) =>
    endsEarly === undefined ? [] : [`- **${title.split(',')[0]}:** ${endsEarly.replace(`${title}: `, '')}.`],
  );
  return ['When a store may end a lease that is being renewed:', '', ...notes.map(inLines)].join('\n');
}

/** An item of a list in lines of at most 100 columns. */
function inLines(item: string): string {
  return item.replaceAll(/(.{1,98})(?: |$)/g, '$1\n  ').trimEnd();
}

function duration(ms: number): string {
  if (ms < 1_000) return `${ms} ms`;
  if (ms < 120_000) return `${Number((ms / 1_000).toFixed(2))} s`;
  return ms < 7_200_000 ? `${Math.round(ms / 60_000)} min` : `${Math.round(ms / 3_600_000)} h`;
}

function count(value: number): string {
  return value.toLocaleString('en');
}
