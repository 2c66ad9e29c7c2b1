/**
 * A picture of who was the controller when: one lane for each broker, with time from left to right.
 */

import type { History } from './history.ts';
import { bad, quiet, who } from './screen.ts';

const WIDTH = 65;
const INDENT = ' '.repeat(12);

/** Lines of at most 80 columns. Without the colours, all lanes have the same width. */
export function lanes(history: History): readonly string[] {
  const from = Math.min(...history.lives.map((life) => life.from));
  const to = Math.max(from + 1, history.acts.at(-1)?.ended ?? from, ...history.lives.map(({ end }) => end?.at ?? from));
  const stepMs = (to - from) / WIDTH;
  const moments = Array.from({ length: WIDTH }, (_, index) => from + (index + 0.5) * stepMs);
  const brokers = [...new Set(history.lives.map(({ broker }) => broker))].toSorted();
  const lane = (broker: string): string => {
    const marks = moments.map((at) => markAt(at, stepMs, history, broker)).join('');
    return `  ${who(broker, broker.padEnd(9))} ${painted(broker, marks)}`;
  };
  const legend = `${INDENT}━ is the controller   ‖ stands still   × is killed   · follows`;
  return [...brokers.map(lane), quiet(INDENT + scale(stepMs)), quiet(legend)];
}

function markAt(at: number, stepMs: number, history: History, broker: string): string {
  const within = (span: { readonly broker: string; readonly from: number; readonly to: number }): boolean =>
    span.broker === broker && span.from <= at && at <= span.to;
  const own = history.lives.filter((life) => life.broker === broker);
  if (own.some(({ end }) => end?.how === 'SIGKILL' && Math.abs(end.at - at) <= stepMs / 2)) return '×';
  if (history.pauses.some(within)) return '‖';
  if (history.validSpans.some(within)) return '━';
  return own.some((life) => life.from <= at && at <= (life.end?.at ?? at)) ? '·' : ' ';
}

function painted(broker: string, marks: string): string {
  return marks.replaceAll(/━+|‖+|×|·+/g, (run) => {
    if (run.startsWith('━')) return who(broker, run);
    return run.startsWith('·') ? quiet(run) : bad(run);
  });
}

/** The seconds, where there is room. */
function scale(stepMs: number): string {
  const everyS = [1, 2, 5, 10, 30, 60].find((seconds) => (seconds * 1_000) / stepMs >= 8) ?? 300;
  const columns = (everyS * 1_000) / stepMs;
  let line = '';
  for (let i = 0; Math.round(i * columns) < WIDTH - 4; i += 1) line = `${line.padEnd(Math.round(i * columns))}${i * everyS} s`;
  return line;
}
