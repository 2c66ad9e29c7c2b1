/** A term belongs to one process and is never issued twice. A later election has a higher term. */

import { only } from '../history.ts';
import { nameOf, type Rule } from './rule.ts';

export const termsRise: Rule = (history) => {
  const elected = only(history, 'elected').toSorted((a, b) => a.at - b.at);
  return elected.flatMap((event, index) => {
    const before = elected[index - 1];
    if (before === undefined || event.term > before.term) return [];
    return [{ promise: 'terms rise', at: event.at, what: `${nameOf(event)} was elected after ${nameOf(before)}` }];
  });
};
