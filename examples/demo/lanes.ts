/** Who led when, as a picture: one lane for each member, its time from left to right. */

import { beliefsOf, toldOf, type Belief, type History } from './history.ts';
import { bad, MEMBERS, quiet, who } from './screen.ts';

const WIDTH = 68;
const INDENT = ' '.repeat(9);

interface Span {
  readonly member: string;
  readonly from: number;
  readonly to: number;
}

/** Lines of at most 80 columns; the colours aside, a lane has the same width in all of them. */
export function lanes(history: History): readonly string[] {
  const from = Math.min(...history.lives.map((life) => life.from));
  const to = Math.max(from + 1, ...history.lives.map(({ end }) => end?.at ?? from));
  const stepMs = (to - from) / WIDTH;
  const moments = Array.from({ length: WIDTH }, (_, index) => from + (index + 0.5) * stepMs);
  const beliefs = beliefsOf(history.told);
  const pauses = pausesOf(history, to);
  const lane = (member: string): string => {
    const marks = moments.map((at) => markAt(at, stepMs, { history, member, beliefs, pauses })).join('');
    return `  ${who(member, member.padEnd(6))} ${painted(member, marks)}`;
  };
  const legend = `${INDENT}━ leads   ‖ stands still   × is killed   · follows`;
  return [...MEMBERS.map(lane), quiet(INDENT + scale(stepMs)), quiet(legend)];
}

function pausesOf({ told }: History, end: number): readonly Span[] {
  const woken = toldOf(told, 'wroteLate');
  return toldOf(told, 'pausing').map(({ member, event: { term, at } }) => {
    const woke = woken.find((one) => one.member === member && one.event.term === term);
    return { member, from: at, to: woke?.event.at ?? end };
  });
}

interface Scene {
  readonly history: History;
  readonly member: string;
  readonly beliefs: readonly Belief[];
  readonly pauses: readonly Span[];
}

function markAt(at: number, stepMs: number, { history, member, beliefs, pauses }: Scene): string {
  const within = (span: Span): boolean => span.member === member && span.from <= at && at <= span.to;
  const own = history.lives.filter((life) => life.member === member);
  if (own.some(({ end }) => end?.how === 'SIGKILL' && Math.abs(end.at - at) <= stepMs / 2)) return '×';
  if (pauses.some(within)) return '‖';
  if (beliefs.some(within)) return '━';
  return own.some((life) => life.from <= at && at <= (life.end?.at ?? at)) ? '·' : ' ';
}

function painted(member: string, marks: string): string {
  return marks.replaceAll(/━+|‖+|×|·+/g, (run) => {
    if (run.startsWith('━')) return who(member, run);
    return run.startsWith('·') ? quiet(run) : bad(run);
  });
}

/** Seconds, as often as they fit. */
function scale(stepMs: number): string {
  const everyS = [1, 2, 5, 10, 30, 60].find((seconds) => (seconds * 1_000) / stepMs >= 8) ?? 300;
  const columns = (everyS * 1_000) / stepMs;
  let line = '';
  for (let i = 0; Math.round(i * columns) < WIDTH - 4; i += 1) line = `${line.padEnd(Math.round(i * columns))}${i * everyS} s`;
  return line;
}
