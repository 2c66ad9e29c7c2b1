/** The fence and the guard reject stale writes, and the store keeps acknowledged writes. */

import { only, type SwappedEvent } from '../history.ts';
import { nameOf, seconds, type Rule } from './rule.ts';

export const fenceHolds: Rule = (history) =>
  only(history, 'wrote').flatMap((write) => {
    const { to, term, highest, accepted, at } = write;
    if (to !== 'fenced' || accepted === term >= highest) return [];
    const what = `the fence ${accepted ? 'admitted' : 'refused'} ${nameOf(write)} after term ${highest}`;
    return [{ promise: 'stale writes are refused', at, what }];
  });

/**
 * Checks writes that were sent after a newer leader had learned of its term. A write that was on
 * its way at that moment may have been applied before.
 */
export const guardHolds: Rule = (history) => {
  const elected = only(history, 'elected');
  return only(history, 'swapped').flatMap((swap) => {
    const newer = elected.find(({ term, at }) => term > swap.term && at < swap.from);
    if (swap.outcome !== 'swapped' || newer === undefined) return [];
    const what = `the store took a guarded write of ${nameOf(swap)}, sent ${seconds(swap.from - newer.at)} after ${nameOf(newer)} was elected`;
    return [{ promise: 'stale writes are refused', at: swap.at, what }];
  });
};

/** Applies where the store keeps what it acknowledges, and was read at the end. */
export const writesStay: Rule = (history, { forgets }) => {
  if (forgets === true || only(history, 'left').length === 0) return [];
  const kept = new Map(only(history, 'kept').map(({ term, n }) => [term, n]));
  const acknowledged = only(history, 'swapped').filter(({ outcome }) => outcome === 'swapped');
  return [...Map.groupBy(acknowledged, ({ term }) => term)].flatMap(([term, own]) => {
    const last = own.reduce((a: SwappedEvent, b) => (a.n > b.n ? a : b));
    const found = kept.get(term) ?? 0;
    if (found >= last.n) return [];
    const what = `write ${last.n} of ${nameOf(last)} was acknowledged, and ${found === 0 ? 'there is none' : `write ${found} is the last`} in the store`;
    return [{ promise: 'acknowledged writes stay', at: last.at, what }];
  });
};
