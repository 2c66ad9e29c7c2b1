/**
 * Draws who leads and whom the others follow over time: one row per member, one character per step
 * of time.
 */

import { algorithmOf, type Name } from '../best-effort/algorithms.ts';
import { Stage } from './stage.ts';
import { tell } from './tell.ts';

const MEMBERS = ['5', '4', '3', '2', '1'];
const CANDIDATES = ['5', '4', '3'];
const TIMES = { failureTimeoutMs: 1_000, heartbeatEveryMs: 200, answerTimeoutMs: 100 };
const STEP_MS = 100;
const RULER_MS = 1_000;

/** The commands, and their times. */
export interface Deed {
  readonly atMs: number;
  readonly what: string;
  readonly act: (stage: Stage) => void;
}

export interface Shown {
  readonly rows: readonly string[];
  /** The messages between the first command and the second. */
  readonly said: readonly string[];
  readonly stage: Stage;
}

export function show(name: Name, deeds: readonly Deed[], forMs: number): Shown {
  const stage = new Stage(algorithmOf(name, { members: MEMBERS, candidates: CANDIDATES, ...TIMES }), 1);
  for (const id of MEMBERS) stage.start(id);
  stage.until(() => stage.agree(MEMBERS), 60_000);
  stage.pass(2 * TIMES.failureTimeoutMs);
  const [sinceMs, before] = [stage.nowMs, stage.lines.length];
  const marks = new Map(MEMBERS.map((id) => [id, '']));
  for (let atMs = 0; atMs < forMs; atMs += STEP_MS) {
    for (const deed of deeds) if (deed.atMs === atMs) deed.act(stage);
    stage.pass(STEP_MS);
    for (const id of MEMBERS) marks.set(id, (marks.get(id) ?? '') + mark(stage, id));
  }
  const [first, second] = deeds.map((deed) => sinceMs + deed.atMs);
  const between = stage.lines.slice(before).filter(({ atMs }) => atMs >= (first ?? 0) && atMs < (second ?? Infinity));
  const rows = [ruler(forMs), ...MEMBERS.map((id) => `${id}  ${marks.get(id) ?? ''}`), ...below(deeds)];
  return { rows, said: tell(between, first ?? 0), stage };
}

function mark(stage: Stage, id: string): string {
  if (!stage.up.includes(id)) return '×';
  if (stage.leaders.includes(id)) return '█';
  return stage.sees(id) ?? '·';
}

function ruler(forMs: number): string {
  const width = RULER_MS / STEP_MS;
  const marks = Array.from({ length: forMs / RULER_MS }, (_, i) => `${i} s`.padEnd(width));
  return `   ${marks.join('')}`.trimEnd();
}

function below(deeds: readonly Deed[]): readonly string[] {
  return deeds.map(({ atMs, what }) => `   ${' '.repeat(atMs / STEP_MS)}↑ ${what}`);
}
