/** Observers never go back, and in calm they all show the current leader. */

import { only } from '../history.ts';
import { seconds, type Rule } from './rule.ts';

const PROMISE = 'observers agree in the end';

export const observersNeverGoBack: Rule = (history) =>
  [...Map.groupBy(only(history, 'shown'), ({ who }) => who).values()].flatMap((shown) => {
    let highest = 0n;
    return shown.flatMap(({ who, at, term, reason }) => {
      if (term === undefined) return [];
      const before = highest;
      highest = term;
      if (term >= before || reason === 'termReset') return [];
      return [{ promise: 'observers never go back', at, what: `${who} was shown term ${term} after term ${before}` }];
    });
  });

/**
 * In calm the members are asked who leads. Every member must answer, and name the latest leader.
 * Leaderships that had ended by then, or that ended while members answered, are not compared:
 * another rule checks whether they may end.
 */
export const observersAgree: Rule = (history, { members }) => {
  const phases = only(history, 'phase');
  const elected = only(history, 'elected');
  return phases.flatMap((asked) => {
    if (asked.phase !== 'asked') return [];
    const end = phases.find(({ at }) => at > asked.at)?.at ?? Infinity;
    const newest = elected.findLast(({ at }) => at < asked.at);
    const answers = only(history, 'answered').filter(({ at }) => at >= asked.at && at < end);
    const isChanged = history.some(({ type, at }) => type === 'elected' && at > asked.at && at < end);
    const hasEnded = only(history, 'ended').some(({ who, term, at }) => who === newest?.who && term === newest.term && at < end);
    if (newest === undefined || isChanged || hasEnded) return [];
    const silent = members.filter((id) => !answers.some(({ who }) => who.startsWith(`${id}#`)));
    const silences = silent.map((id) => ({ promise: PROMISE, at: asked.at, what: `${id} did not answer who leads` }));
    const disagreements = answers.flatMap(({ who, at, view, read }) => {
      const wrong = [
        ...(view.state === 'leader' && view.term === newest.term ? [] : [`shows ${view.state}, term ${view.term}`]),
        ...(read === newest.term ? [] : [`reads term ${read}`]),
      ];
      const what = `${who} ${wrong.join(' and ')}; ${newest.who} leads in term ${newest.term} for ${seconds(asked.at - newest.at)}`;
      return wrong.length === 0 ? [] : [{ promise: PROMISE, at, what }];
    });
    return [...silences, ...disagreements];
  });
};
