/**
 * A term is one process's, is never issued twice, and whoever is elected later has the higher one.
 */

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
