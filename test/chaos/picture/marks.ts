import { only, type ChaosEvent } from '../history.ts';
import { cross, diamond, type Frame } from './frame.ts';
import { element } from './svg.ts';

/** A write that was rejected. */
export interface Mark {
  readonly member: string;
  readonly x: number;
  readonly by: 'fence' | 'guard';
}

/** From the top of a lane. */
const MIDDLE = 14;
/** A rejection by the guard is drawn beside the fence's, which often happens at the same time. */
const BESIDE = 11;
const HALO = 6.5;

export function marksOf(history: readonly ChaosEvent[], { from, to, x }: Frame): readonly Mark[] {
  const isShown = ({ at }: { readonly at: number }): boolean => at >= from && at <= to;
  const fenced = only(history, 'wrote').filter((write) => write.to === 'fenced' && !write.accepted && isShown(write));
  const guarded = only(history, 'swapped').filter((swap) => swap.outcome === 'refused' && isShown(swap));
  return [
    ...guarded.map(({ who, at }) => ({ member: memberOf(who), x: x(at) + BESIDE, by: 'guard' as const })),
    ...fenced.map(({ who, at }) => ({ member: memberOf(who), x: x(at), by: 'fence' as const })),
  ];
}

function memberOf(who: string): string {
  return who.replace(/#.*/, '');
}

export function drawMarks(marks: readonly Mark[], { lane }: Frame): readonly string[] {
  return marks.flatMap(({ member, x, by }) => {
    const top = lane(member);
    if (top === undefined) return [];
    const y = top + MIDDLE;
    const shape = by === 'fence' ? { class: 'refused', d: cross(x, y) } : { class: 'guard', d: diamond(x, y) };
    // Covers what is drawn below.
    return [element('circle', { class: 'ground', cx: x, cy: y, r: HALO }), element('path', shape)];
  });
}
