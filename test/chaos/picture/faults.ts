import type { Span } from '../check/rule.ts';
import type { Frame } from './frame.ts';
import { element, label, widthOf } from './svg.ts';

const TOP = 26;
const HEIGHT = 12;
const SMALL_PX = 10;
/** The width of a fault without duration. */
const LEAST = 3;

/** Readable names. */
const words: Readonly<Record<string, string>> = {
  block: 'event loop filled',
  crash: 'kill -9',
  cut: 'link blackholed',
  cutServer: 'cut off from the others',
  deaf: 'answers lost',
  deleteEntry: 'operator deletes the leader’s entry',
  deleteRecord: 'operator deletes the leader’s key',
  freezeDisk: 'disk hangs',
  killServer: 'kill -9',
  lateWrites: 'writes held up',
  leave: 'SIGTERM',
  pause: 'SIGSTOP',
  pauseServer: 'SIGSTOP',
  refuse: 'link refused',
  rollServers: 'rolling restart',
  silenceWatches: 'watches silent',
  silent: 'connections silent',
  slow: 'link slow',
  slowServer: 'slow to the others',
  stall: 'link stalled',
  wallJump: 'wall clock set',
};

/**
 * A box for each fault, in the lane of its target. A fault of all servers has a box in each of
 * their lanes.
 */
export function faultsIn(spans: readonly Span[], frame: Frame, servers: readonly string[]): readonly string[] {
  const placed = spans.flatMap((span) => (span.target === 'servers' ? servers : [span.target]).map((lane) => ({ ...span, lane })));
  const shown = placed.filter(({ from, to }) => to >= frame.from && from <= frame.to);
  return shown.flatMap(({ fault, from, to, lane }) => {
    const y = frame.lane(lane);
    if (y === undefined) return [];
    const [x, width] = [frame.x(from), Math.max(LEAST, frame.x(to) - frame.x(from))];
    const next = shown.filter((other) => other.lane === lane && other.from > from).toSorted((a, b) => a.from - b.from)[0];
    const room = (next === undefined ? frame.x(frame.to) : frame.x(next.from)) - x;
    const text = words[fault] ?? fault;
    const isInside = widthOf(text, SMALL_PX) + 6 < width;
    const start = isInside ? x + 4 : x + width + 3;
    return [
      element('rect', { class: 'fault', x, y: y + TOP, width, height: HEIGHT, rx: 2 }, element('title', {}, text)),
      ...(start - x + widthOf(text, SMALL_PX) < room ? [label(start, y + TOP + 9.5, text, 'hit')] : []),
    ];
  });
}
