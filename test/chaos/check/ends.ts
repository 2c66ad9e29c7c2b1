/** Every leadership that began ends once, with a reason, and is not valid after its end. */

import { only, type ChaosEvent, type Who } from '../history.ts';
import { nameOf, seconds, type Rule, type Violation } from './rule.ts';

export const oneEndEach: Rule = (history) => {
  // The crew records the end of every process as `died`. Only a process that was killed has no time
  // to report the end of its leadership.
  const closed = new Set(only(history, 'closed').map(({ who }) => who));
  const killed = new Set(only(history, 'died').flatMap(({ who }) => (closed.has(who) ? [] : [who])));
  const ended = Map.groupBy(only(history, 'ended'), nameOf);
  const elected = new Set(only(history, 'elected').map(nameOf));
  const problems: Violation[] = [];
  const add = (at: number, what: string): void => void problems.push({ promise: 'every leadership ends once, with a reason', at, what });

  for (const event of only(history, 'elected'))
    if (!ended.has(nameOf(event)) && !killed.has(event.who)) add(event.at, `${nameOf(event)} never ended`);
  for (const [name, ends] of ended) {
    const [first, second] = ends;
    if (first === undefined) continue;
    if (!elected.has(name)) add(first.at, `${name} was never elected, and yet ended`);
    if (second !== undefined) add(second.at, `${name} ended ${ends.length} times`);
    if (first.reason === '') add(first.at, `${name} ended without a reason`);
  }
  const lastValid = Map.groupBy(only(history, 'valid'), nameOf);
  for (const [name, own] of lastValid) {
    const last = Math.max(...own.map(({ at }) => at));
    const end = ended.get(name)?.[0]?.at ?? Infinity;
    if (!elected.has(name)) add(last, `${name} valid, and was never elected`);
    if (last > end) add(last, `${name} was valid for ${seconds(last - end)} after it had ended`);
  }
  return problems;
};

/**
 * The SDK's events `elected` and `ended` come in pairs: no second `elected` before the first one's
 * `ended`, no `ended` without its `elected`, and none open when the member has closed. A process
 * that was killed leaves one open.
 */
export const announcedInPairs: Rule = (history) => {
  const problems: Violation[] = [];
  const open = new Map<Who, bigint>();
  const add = ({ who, at }: { readonly who: Who; readonly at: number }, what: string): void =>
    void problems.push({ promise: 'elected and ended come in pairs', at, what: `${who} ${what}` });
  for (const event of history.filter(isOfPairs)) {
    const term = open.get(event.who);
    if (event.type === 'closed') {
      if (term !== undefined) add(event, `closed, and term ${term} had not ended`);
    } else if (event.what === 'elected') {
      if (term !== undefined) add(event, `was elected in term ${event.term} before term ${term} had ended`);
      open.set(event.who, event.term);
    } else {
      if (term !== event.term) add(event, `ended in term ${event.term}; ${term === undefined ? 'no term' : `term ${term}`} had begun`);
      open.delete(event.who);
    }
  }
  return problems;
};

type OfPairs = Extract<ChaosEvent, { readonly type: 'announced' | 'closed' }>;

function isOfPairs(event: ChaosEvent): event is OfPairs {
  return event.type === 'announced' || event.type === 'closed';
}
