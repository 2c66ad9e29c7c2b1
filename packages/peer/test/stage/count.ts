/**
 * Counts the messages of an election after the leader has crashed. Either one member notices the
 * crash first, or all notice it at once.
 */

import { algorithmOf, type Name, type Options } from '../best-effort/algorithms.ts';
import { Stage, type StageLine } from './stage.ts';
import { isPartOfElection } from './tell.ts';

export interface Cost {
  readonly messages: number;
  /** The number of successive message delays until all members knew the leader. */
  readonly rounds: number;
  /** The number of answer timeouts that passed in addition. */
  readonly answerTimeouts: number;
  /** The whole election, from its first message on, in failure timeouts. */
  readonly failureTimeouts: number;
}

const LATENCY_MS = 1;
const TIMES = { failureTimeoutMs: 10_000, heartbeatEveryMs: 2_000, answerTimeoutMs: 1_000 };

/** The best members: three, or two of a group of three. */
export function candidatesOf(members: readonly string[]): readonly string[] {
  return members.slice(0, members.length > 3 ? 3 : 2);
}

export function membersOf(n: number): readonly string[] {
  return Array.from({ length: n }, (_, i) => String(n - i));
}

/** A group whose leader has led for a while. */
function ledBy(name: Name, members: readonly string[], options: Partial<Options> = {}): Stage {
  const stage = new Stage(algorithmOf(name, { members, candidates: candidatesOf(members), ...TIMES, ...options }), LATENCY_MS);
  for (const id of members) stage.start(id);
  stage.until(() => stage.agree(members), 100 * TIMES.failureTimeoutMs);
  stage.pass(2 * TIMES.failureTimeoutMs);
  return stage;
}

/** `first`: the member that notices before all others. Undefined: all notice at once. */
export function costOf(name: Name, n: number, first: 'lowest' | 'ordinary' | undefined, options: Partial<Options> = {}): Cost {
  const members = membersOf(n);
  const stage = ledBy(name, members, options);
  const [leader = ''] = stage.leaders;
  const noticer = first === 'ordinary' ? members[candidatesOf(members).length] : members.at(-1);
  if (first !== undefined) stage.lose((from, to) => from === leader && to === noticer);
  stage.pass(2 * TIMES.heartbeatEveryMs);
  const before = stage.lines.length;
  stage.crash(leader);
  stage.until(() => stage.agree(stage.up), 100 * TIMES.failureTimeoutMs);
  const agreedMs = stage.nowMs;
  // Later messages of this election count too.
  stage.pass(TIMES.failureTimeoutMs / 2);
  return count(stage.lines.slice(before), agreedMs);
}

function count(lines: readonly StageLine[], agreedMs: number): Cost {
  const said = lines.filter((line) => line.type === 'said').filter(isPartOfElection);
  const [beganMs = agreedMs] = lines.filter((line) => line.type !== 'said' || isPartOfElection(line)).map(({ atMs }) => atMs);
  const tookMs = Math.max(agreedMs - beganMs, 0);
  return {
    messages: said.length,
    rounds: Math.round((tookMs % TIMES.answerTimeoutMs) / LATENCY_MS),
    answerTimeouts: Math.floor(tookMs / TIMES.answerTimeoutMs),
    failureTimeouts: tookMs / TIMES.failureTimeoutMs,
  };
}
