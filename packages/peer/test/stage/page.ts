/**
 * `node --conditions=@incumbent/source packages/peer/test/stage/page.ts`: runs the elections and
 * writes docs/peer-elections.md. A test checks that the page is up to date.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { names, type Name } from '../best-effort/algorithms.ts';
import { candidatesOf, costOf, membersOf, type Cost } from './count.ts';
import { show, type Deed } from './timeline.ts';

const PAGE: URL = new URL('../../../../docs/peer-elections.md', import.meta.url);
const SIZES: readonly number[] = [3, 5, 9, 33, 129];

/** What the papers say about the messages of an election. */
const papers: Readonly<Record<Name, string>> = {
  bully: 'O(n²) at worst',
  nextInLine: 'O(n)',
  candidateOrdinary: 'O(candidates + n)',
  invitation: 'no election: groups merge',
  ring: '2n at best, O(n log n) on average',
};

const failover: readonly Deed[] = [
  { atMs: 1_000, what: '5 dies', act: (stage) => stage.crash('5') },
  { atMs: 4_000, what: '5 is back', act: (stage) => stage.start('5') },
];

const sides = (id: string): boolean => id === '5' || id === '4';
const split: readonly Deed[] = [
  { atMs: 1_000, what: '{5 4} and {3 2 1} are parted', act: (stage) => stage.lose((from, to) => sides(from) !== sides(to)) },
  { atMs: 4_000, what: 'they hear each other again', act: (stage) => stage.heal() },
];

export function page(): string {
  return [
    '# Elections by best effort, at their best and at their worst',
    '',
    'This page is written by `packages/peer/test/stage/page.ts`, which runs the elections of',
    '[@incumbent/peer](../packages/peer) and counts their messages. A test checks that the page is up to',
    'date. The page of the package says what each election guarantees, and what it does not.',
    '[Its scenarios](../packages/peer/scenarios) replay the figures of the textbook step by step.',
    '',
    '## What an election costs',
    '',
    'The leader of n members has died. Either one member notices the death before the others, or all',
    'members notice it at the same instant. The table counts the messages from that moment until all',
    'members know the new leader. Messages to the dead leader count. Heartbeats, their answers and the',
    'acknowledgements of a ring (one per message that arrives) do not count. The member that notices is',
    'the lowest one. With candidate/ordinary, the delays make one member notice first: the first',
    'ordinary member. There are three candidates (two of three members).',
    '',
    ...table(['messages', 'the papers', ...SIZES.map((n) => `n = ${n}`)], names.flatMap(messageRows)),
    '',
    'If all members notice at once, `nextInLine` needs the fewest messages, because the successor is',
    'among them: the successor leads, and the others ask it in vain. A ring that all members begin at',
    'once does not need O(n²) messages: where two tokens meet, only that of the better initiator goes on.',
    'With `invitation`, no single member starts an election: when the leader dies, its group falls apart,',
    'and the members merge again.',
    '',
    '## How long it takes',
    '',
    'The table shows the time from the first message. It leaves out the time until a member notices the',
    'death, which is one failure timeout at most. The units are consecutive message delays, and answer',
    'timeouts if a member had to wait for the dead leader.',
    '',
    ...table(['time to elect', ...SIZES.map((n) => `n = ${n}`)], names.map(timeRow)),
    '',
    "With candidate/ordinary, a member's own delay comes before this time: none for the first member, and",
    'one step more for each member after it. With `invitation`, the moment of an invitation is random:',
    'the table shows failure timeouts, with the default of half a failure timeout between invitations.',
    '',
    '## What a partition does',
    '',
    'Of five members, 5 leads. A partition separates {5 4} from {3 2 1}, and later ends.',
    '',
    ...table(['', 'parted, these lead', 'afterwards this one'], names.map(partitionRow)),
    '',
    'This is the split brain: each side has a leader that considers itself valid, and neither leader can',
    'detect the other one. `round` numbers such leaderships, and a fence does not accept a round. With',
    'candidate/ordinary, a side without a candidate has no leader. If two leaders do harm, use `quorum`,',
    'which elects a leader only on the side of the majority.',
    '',
    ...names.flatMap(section),
    '## `emergent`',
    '',
    'Members that come and go hold no election that the page could draw: the oldest member leads. They',
    'find each other by seeds, and need at least two of them.',
    '',
    '- While the only seed is down, no process can join: it ends with `JOIN_FAILED` after `joinAttempts`',
    '  attempts.',
    '- When the only seed restarts after the others have removed it, it has nobody to ask. It founds a',
    '  second cluster, and leads it until the members of the first cluster find it and the two merge.',
    '- With two seeds, the one that restarts asks the other, and joins its cluster. Two seeds that',
    '  restart at the same time may also found a second cluster.',
    '',
    'Tests show each of these: `packages/peer/test/emergent/seeds.test.ts`. The rest is on',
    '[the page of the package](../packages/peer/README.md#emergent-the-oldest-member-leads).',
    '',
  ].join('\n');
}

export function written(): string {
  return readFileSync(PAGE, 'utf8');
}

function messageRows(name: Name): readonly (readonly string[])[] {
  const all = SIZES.map((n) => String(measured(name, n, undefined).messages));
  if (name === 'invitation') return [[`\`${name}\`, all notice`, papers[name], ...all]];
  const one = SIZES.map((n) => String(first(name, n).messages));
  return [
    [`\`${name}\`, one notices`, papers[name], ...one],
    [`\`${name}\`, all notice`, '', ...all],
  ];
}

function timeRow(name: Name): readonly string[] {
  if (name === 'invitation')
    return [`\`${name}\``, ...SIZES.map((n) => `${measured(name, n, undefined).failureTimeouts.toFixed(2)} failure timeouts`)];
  return [`\`${name}\``, ...SIZES.map((n) => timeOf(first(name, n)))];
}

/** The bully also asks the crashed leader: a leader that was only unreachable would answer. */
function timeOf({ rounds, answerTimeouts }: Cost): string {
  const delays = `${rounds} delays`;
  return answerTimeouts === 0 ? delays : `${answerTimeouts} answer timeout${answerTimeouts === 1 ? '' : 's'} + ${delays}`;
}

function first(name: Name, n: number): Cost {
  return measured(name, n, name === 'candidateOrdinary' ? 'ordinary' : 'lowest');
}

const costs = new Map<string, Cost>();

/** Two tables show most elections. The large ones take a second each, so each is run once. */
function measured(name: Name, n: number, noticer: 'lowest' | 'ordinary' | undefined): Cost {
  const key = `${name} ${n} ${noticer}`;
  const cost = costs.get(key) ?? costOf(name, n, noticer);
  costs.set(key, cost);
  return cost;
}

function partitionRow(name: Name): readonly string[] {
  const [parted = '', ...rest] = [show(name, split.slice(0, 1), 4_000), show(name, split, 8_000)].map(({ stage }) =>
    stage.leaders.join(' and '),
  );
  return [`\`${name}\``, parted, ...rest];
}

function section(name: Name): readonly string[] {
  const [dies, parts] = [show(name, failover, 7_000), show(name, split, 7_000)];
  const candidates = name === 'candidateOrdinary' ? [`The candidates are ${candidatesOf(membersOf(5)).join(', ')}.`] : [];
  return [
    `## \`${name}\``,
    '',
    '█ leads; a number: whom it follows; · knows of nobody; × is dead. The failure timeout is a second.',
    ...candidates,
    '',
    'Its leader dies, and comes back:',
    '',
    '```text',
    ...dies.rows,
    '```',
    '',
    'What they say, from its death until it is back:',
    '',
    '```text',
    ...dies.said,
    '```',
    '',
    'The split brain:',
    '',
    '```text',
    ...parts.rows,
    '```',
    '',
  ];
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)];
}

if (import.meta.main) writeFileSync(PAGE, page());
