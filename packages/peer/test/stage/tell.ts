/** Formats the events of a stage as lines of text. */

import type { BestEffortMessage } from '../../src/index.ts';
import type { StageLine } from './stage.ts';

type Said = Extract<StageLine, { type: 'said' }>;

/** Messages that are sent all the time and are not part of an election. */
const SILENT: ReadonlySet<string> = new Set(['heartbeat', 'heartbeatAnswer', 'passed', 'resigned']);

export function isPartOfElection({ message }: Said): boolean {
  return !SILENT.has(message.type);
}

/** Each line has its time since then. A message to several members at once is one line. */
export function tell(lines: readonly StageLine[], sinceMs: number): readonly string[] {
  const shown = lines.filter((line) => line.type !== 'said' || isPartOfElection(line));
  const groups = Object.values(Object.groupBy(shown, (line, i) => keyOf(line, i)));
  return groups.map((group = []) => {
    const [first] = group;
    const to = group.flatMap((line) => (line.type === 'said' ? [line.to] : []));
    return first === undefined ? '' : `${String(Math.round(first.atMs - sinceMs)).padStart(6)} ms  ${textOf(first, to)}`;
  });
}

function keyOf(line: StageLine, i: number): string {
  return line.type === 'said' ? `${line.atMs} ${line.from} ${wordsOf(line.message)}` : `${line.type} ${i}`;
}

function textOf(line: StageLine, to: readonly string[]): string {
  switch (line.type) {
    case 'said':
      return `${line.from} to ${to.toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true })).join(' ')}: ${wordsOf(line.message)}`;
    case 'leads':
      return `${line.id} LEADS, round ${line.round}`;
    case 'ended':
      return `${line.id} leads no longer: ${line.reason}`;
    default:
      return line satisfies never;
  }
}

function wordsOf(message: BestEffortMessage): string {
  switch (message.type) {
    case 'elected':
    case 'redirect':
    case 'moved':
    case 'announce':
      return `${message.type} ${message.leader}`;
    case 'collect':
      return `collect {${message.live.join(' ')}}`;
    case 'invite':
      return `invite, into a group of ${message.size}`;
    case 'accept':
      return message.group.length === 0 ? 'accept' : `accept, with ${message.group.join(' ')}`;
    default:
      return message.type;
  }
}
