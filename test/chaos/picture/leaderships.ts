import { only, type ChaosEvent } from '../history.ts';
import type { Frame } from './frame.ts';
import { element } from './svg.ts';

/** One term, for as long as its leadership was valid. */
export interface ValidTerm {
  readonly member: string;
  readonly term: bigint;
  readonly from: number;
  readonly to: number;
  /** The reason of its end. Absent if the process died. */
  readonly reason: string | undefined;
}

export function leaderships(history: readonly ChaosEvent[]): readonly ValidTerm[] {
  const ended = only(history, 'ended');
  const valid = Map.groupBy(only(history, 'valid'), ({ who, term }) => `${who} ${term}`);
  return [...valid.values()]
    .map((own) => {
      const { who, term } = own[0] ?? { who: '', term: 0n };
      const reason = ended.find((end) => end.who === who && end.term === term)?.reason;
      const [from, to] = [Math.min(...own.map((validity) => validity.from)), Math.max(...own.map(({ at }) => at))];
      return { member: who.replace(/#.*/, ''), term, from, to, reason };
    })
    .toSorted((a, b) => a.from - b.from);
}

const MIDDLE = 14;

/** A line from the end of each leadership to the beginning of the next. */
export function passesOf(terms: readonly ValidTerm[], { from, to, x, lane }: Frame): readonly string[] {
  return terms.flatMap((next, index) => {
    const before = terms[index - 1];
    const [y1, y2] = [lane(before?.member ?? ''), lane(next.member)];
    if (before === undefined || y1 === undefined || y2 === undefined || next.from < from || before.to > to) return [];
    return [
      element('path', { class: 'passes', d: `M${x(before.to).toFixed(1)} ${y1 + MIDDLE}L${x(next.from).toFixed(1)} ${y2 + MIDDLE}` }),
    ];
  });
}
