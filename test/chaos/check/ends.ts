/** Every leadership that began ends once, with a reason; belief ends with it. */

import { only } from '../history.ts';
import { nameOf, seconds, type Rule, type Violation } from './rule.ts';

export const oneEndEach: Rule = (history) => {
  const dead = new Map(only(history, 'died').map(({ who, at }) => [who, at]));
  const ended = Map.groupBy(only(history, 'ended'), nameOf);
  const elected = new Set(only(history, 'elected').map(nameOf));
  const problems: Violation[] = [];
  const add = (at: number, what: string): void => void problems.push({ promise: 'every leadership ends once, with a reason', at, what });

  for (const event of only(history, 'elected'))
    if (!ended.has(nameOf(event)) && !dead.has(event.who)) add(event.at, `${nameOf(event)} never ended`);
  for (const [name, ends] of ended) {
    const [first, second] = ends;
    if (first === undefined) continue;
    if (!elected.has(name)) add(first.at, `${name} was never elected, and yet ended`);
    if (second !== undefined) add(second.at, `${name} ended ${ends.length} times`);
    if (first.reason === '') add(first.at, `${name} ended without a reason`);
  }
  const lastBelieved = Map.groupBy(only(history, 'believed'), nameOf);
  for (const [name, own] of lastBelieved) {
    const last = Math.max(...own.map(({ at }) => at));
    const end = ended.get(name)?.[0]?.at ?? Infinity;
    if (!elected.has(name)) add(last, `${name} believed, and was never elected`);
    if (last > end) add(last, `${name} believed for ${seconds(last - end)} after it had ended`);
  }
  return problems;
};
