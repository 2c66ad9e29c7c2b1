import { only, type ChaosEvent } from '../history.ts';
import type { Stint } from './leaderships.ts';
import { cross, diamond, type Frame } from './frame.ts';
import { TERM_COLOURS } from './style.ts';
import { element, label, widthOf } from './svg.ts';

const BAR_TOP = 5;
const BAR = 18;
const TEXT = 18;
/** A refusal by the guard stands beside the fence's, which often comes with it. */
const BESIDE = 11;
/** Of a reason beside a bar. */
const SMALL_PX = 10;

/** A bar for each term in office, with its number, and how it ended. */
export function stintsIn(stints: readonly Stint[], { from, to, x, lane }: Frame): readonly string[] {
  const shown = stints.filter((stint) => stint.to >= from && stint.from <= to);
  return shown.flatMap(({ member, term, from: begin, to: end, reason }) => {
    const y = lane(member);
    if (y === undefined) return [];
    const [left, width] = [x(begin), Math.max(2, x(end) - x(begin))];
    const number = shortOf(term);
    const next = shown.find((stint) => stint.member === member && stint.from > begin);
    const room = (next === undefined ? x(to) : x(next.from)) - left - width;
    const said = reason ?? 'died';
    return [
      element('rect', { class: `t${Number(term % BigInt(TERM_COLOURS))}`, x: left, y: y + BAR_TOP, width, height: BAR, rx: 3 }),
      ...(width > widthOf(number, SMALL_PX) + 6 ? [label(left + 5, y + TEXT, number, 'term')] : []),
      ...(end < to && room > widthOf(said, SMALL_PX) + 6 ? [label(left + width + 4, y + TEXT, said, 'reason')] : []),
    ];
  });
}

/** Terms that begin with a clock have many digits, of which the last tell them apart. */
function shortOf(term: bigint): string {
  const digits = String(term);
  return digits.length > 6 ? `…${digits.slice(-4)}` : digits;
}

/** Every write that was refused. */
export function marksIn(history: readonly ChaosEvent[], { from, to, x, lane }: Frame): readonly string[] {
  const at = (who: string, when: number): readonly [number, number] | undefined => {
    const y = lane(who.replace(/#.*/, ''));
    return y === undefined || when < from || when > to ? undefined : [x(when), y + BAR_TOP + BAR / 2];
  };
  const crosses = only(history, 'wrote').flatMap((write) => {
    const place = write.to === 'fenced' && !write.accepted ? at(write.who, write.at) : undefined;
    return place === undefined ? [] : [element('path', { class: 'refused', d: cross(...place) })];
  });
  const diamonds = only(history, 'swapped').flatMap((swap) => {
    const place = swap.outcome === 'refused' ? at(swap.who, swap.at) : undefined;
    return place === undefined ? [] : [element('path', { class: 'guard', d: diamond(place[0] + BESIDE, place[1]) })];
  });
  return [...diamonds, ...crosses];
}
