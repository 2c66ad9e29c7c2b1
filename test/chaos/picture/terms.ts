import type { ValidTerm } from './leaderships.ts';
import type { Frame } from './frame.ts';
import type { Mark } from './marks.ts';
import { TERM_COLOURS } from './style.ts';
import { element, label, widthOf } from './svg.ts';

const BAR_TOP = 5;
const BAR = 18;
const TEXT = 18;
/** The room to the left of a mark. */
const ROOM = 6;
/** The font size of a reason beside a bar. */
const SMALL_PX = 10;

/** A bar for each term, with its number and the reason of its end. */
export function termBars(terms: readonly ValidTerm[], marks: readonly Mark[], { from, to, x, lane }: Frame): readonly string[] {
  const shown = terms.filter((validTerm) => validTerm.to >= from && validTerm.from <= to);
  return shown.flatMap(({ member, term, from: begin, to: end, reason }) => {
    const y = lane(member);
    if (y === undefined) return [];
    const [left, width] = [x(begin), Math.max(2, x(end) - x(begin))];
    const number = shortOf(term);
    const next = shown.find((validTerm) => validTerm.member === member && validTerm.from > begin);
    const mark = marks.filter((other) => other.member === member && other.x > left + width).toSorted((a, b) => a.x - b.x)[0];
    const room = Math.min(next === undefined ? x(to) : x(next.from), (mark?.x ?? Infinity) - ROOM) - left - width;
    const said = reason ?? 'died';
    return [
      element('rect', { class: `t${Number(term % BigInt(TERM_COLOURS))}`, x: left, y: y + BAR_TOP, width, height: BAR, rx: 3 }),
      ...(width > widthOf(number, SMALL_PX) + 6 ? [label(left + 5, y + TEXT, number, 'term')] : []),
      ...(end < to && room > widthOf(said, SMALL_PX) + 6 ? [label(left + width + 4, y + TEXT, said, 'reason')] : []),
    ];
  });
}

/** Terms that begin with a clock have many digits. The last ones tell them apart. */
function shortOf(term: bigint): string {
  const digits = String(term);
  return digits.length > 6 ? `…${digits.slice(-4)}` : digits;
}
