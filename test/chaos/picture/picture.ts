/** A run as a picture: who was a valid leader when, and the faults. */

import { headerOf, only, type ChaosEvent, type RunHeader } from '../history.ts';
import { spansOf } from '../check/rule.ts';
import { faultsIn } from './faults.ts';
import { cross, diamond, type Frame } from './frame.ts';
import { leaderships, passesOf, type ValidTerm } from './leaderships.ts';
import { element, label } from './svg.ts';
import { drawMarks, marksOf } from './marks.ts';
import { STYLE } from './style.ts';
import { termBars } from './terms.ts';

const WIDTH = 1_200;
const LANE = 42;
const LEFT = 64;
const RIGHT = 16;
const TOP = 58;
const BOTTOM = 62;
const TICK_MS = 10_000;
/** A longer history does not fit. Then the picture shows the storm with the most leaders. */
const LONG_MS = 110_000;
const BEFORE_MS = 1_500;

export function pictureOf(history: readonly ChaosEvent[]): string {
  const header = headerOf(history);
  const sorted = history.toSorted((a, b) => a.at - b.at);
  const terms = leaderships(sorted);
  const names = [...header.members, 'record', ...header.servers];
  const [from, to] = windowOf(sorted, terms);
  const frame: Frame = {
    from,
    to,
    x: (at) => LEFT + ((Math.min(Math.max(at, from), to) - from) / (to - from)) * (WIDTH - LEFT - RIGHT),
    lane: (name) => (names.includes(name) ? TOP + names.indexOf(name) * LANE : undefined),
  };
  const marks = marksOf(sorted, frame);
  const height = TOP + names.length * LANE + BOTTOM;
  return element(
    'svg',
    { xmlns: 'http://www.w3.org/2000/svg', viewBox: `0 0 ${WIDTH} ${height}`, width: WIDTH, height, role: 'img' },
    element('title', {}, `Who led when: ${header.store} under faults, seed ${header.seed}`),
    element('style', {}, STYLE),
    element('rect', { class: 'ground', width: WIDTH, height, rx: 6 }),
    calmsIn(sorted, frame, height),
    ...axis(frame, names, height),
    ...passesOf(terms, frame),
    ...faultsIn(spansOf(only(sorted, 'fault')), frame, header.servers),
    ...termBars(terms, marks, frame),
    ...drawMarks(marks, frame),
    label(LEFT, 26, titleOf(header), 'title'),
    label(LEFT, 43, 'Each lane is a process of its own. A bar: isValid() said true, asked every 5 ms.', 'faint'),
    ...legend(height - 20),
  );
}

function titleOf({ store, version, members, servers, ttlMs, seed }: RunHeader): string {
  const on = servers.length === 0 ? store : `${servers.length} ${store} ${servers.length === 1 ? 'server' : 'servers'}`;
  return `${members.length} members on ${on} (${version}) under faults: ttl ${ttlMs / 1_000} s, seed ${seed}`;
}

/** The storm with the most leaders and the calm after it, or the whole run. */
function windowOf(history: readonly ChaosEvent[], terms: readonly ValidTerm[]): readonly [number, number] {
  const phases = only(history, 'phase');
  const begins = phases.filter(({ phase }) => phase === 'storm');
  const rounds = begins.map(({ at }) => {
    const end = phases.find((next) => next.at > at && (next.phase === 'storm' || next.phase === 'over'))?.at ?? at;
    return { from: at, to: end, leaders: terms.filter(({ from }) => from >= at && from < end).length };
  });
  const [first] = rounds;
  const last = rounds.at(-1);
  if (first === undefined || last === undefined) return [0, history.at(-1)?.at ?? 1];
  if (last.to - first.from <= LONG_MS) return [first.from - BEFORE_MS, last.to];
  const best = rounds.reduce((a, b) => (b.leaders > a.leaders ? b : a));
  return [best.from - BEFORE_MS, best.to];
}

function calmsIn(history: readonly ChaosEvent[], frame: Frame, height: number): string {
  const phases = only(history, 'phase');
  const calms = phases.flatMap(({ phase, at }) => {
    if (phase !== 'calm') return [];
    const to = phases.find((next) => next.at > at && (next.phase === 'storm' || next.phase === 'over'))?.at ?? frame.to;
    if (to < frame.from || at > frame.to) return [];
    const [x, end] = [frame.x(at), frame.x(to)];
    return [
      element('rect', { class: 'calm', x, y: TOP - 8, width: end - x, height: height - TOP - BOTTOM + 14 }),
      label(x + 4, TOP + 3, 'all healed', 'faint'),
    ];
  });
  return calms.flat().join('');
}

function axis(frame: Frame, names: readonly string[], height: number): readonly string[] {
  const bottom = height - BOTTOM + 6;
  const first = Math.ceil(frame.from / TICK_MS) * TICK_MS;
  const ticks = Array.from({ length: Math.floor((frame.to - first) / TICK_MS) + 1 }, (_, index) => first + index * TICK_MS);
  return [
    ...names.map((name, index) => label(14, TOP + index * LANE + 22, name, 'name')),
    ...names.map((_, index) => {
      const y = TOP + (index + 1) * LANE - 2;
      return element('line', { class: 'line', x1: LEFT, x2: WIDTH - RIGHT, y1: y, y2: y });
    }),
    ...ticks.flatMap((at) => [
      element('line', { class: 'line', x1: frame.x(at), x2: frame.x(at), y1: TOP - 8, y2: bottom }),
      label(frame.x(at) - 10, bottom + 14, `${at / 1_000} s`, 'faint'),
    ]),
  ];
}

function legend(y: number): readonly string[] {
  return [
    element('rect', { class: 't0', x: LEFT, y: y - 10, width: 26, height: 13, rx: 3 }),
    label(LEFT + 8, y, '7', 'term'),
    label(LEFT + 34, y, 'considers itself leader, in term 7, until …', 'faint'),
    element('rect', { class: 'fault', x: LEFT + 272, y: y - 9, width: 26, height: 11, rx: 2 }),
    label(LEFT + 304, y, 'a fault', 'faint'),
    element('path', { class: 'refused', d: cross(LEFT + 368, y - 4) }),
    label(LEFT + 380, y, 'a stale write, refused by the fence; the resource beside it, which has none, took it', 'faint'),
    element('path', { class: 'guard', d: diamond(LEFT + 850, y - 4) }),
    label(LEFT + 862, y, "a stale write, refused by the store's guard", 'faint'),
  ];
}
