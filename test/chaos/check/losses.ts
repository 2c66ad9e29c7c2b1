/** No lease ends before its time, and a leader in calm keeps leading. */

import { only, type ChaosEvent, type EndedEvent } from '../history.ts';
import { earlyEndsIn } from './leases.ts';
import { isAround, nameOf, seconds, spansOf, type Rule, type Span } from './rule.ts';

/** As a part of the ttl: both clocks may be off by 1 %, and timestamps are taken slightly late. */
const ALMOST = 0.95;
/**
 * For this many ttls after a storm, and after the machine was seen to be busy, a leadership may
 * still end.
 */
const SETTLED_TTLS = 1.5;
/** As a part of the ttl: a pause of the process or the machine that may have cost a renewal. */
const LAG = 0.2;
const NOTICED_MS = 2_000;
/** Faults under which calls may succeed while a watch reports nothing. */
const SILENCES: ReadonlySet<string> = new Set(['silenceWatches', 'silent', 'freezeDisk']);

/** Leaderships whose guaranteed lease the store itself ended. */
export function earlyEndsOf(history: readonly ChaosEvent[], ttlMs: number): readonly EndedEvent[] {
  const faults = spansOf(only(history, 'fault'));
  const deletions = faults.filter(({ fault }) => fault === 'deleteRecord' || fault === 'deleteEntry');
  const silences = faults.filter(({ fault }) => SILENCES.has(fault));
  const jumps = only(history, 'jumped');
  return only(history, 'ended').filter(({ who, reason, renewedMsAgo, at }) => {
    const isStores = reason === 'leaseExpired' || reason === 'recordDeleted' || reason === 'recordReplaced' || reason === 'entryDeleted';
    if (!isStores || renewedMsAgo >= ttlMs * ALMOST) return false;
    const isDeleted = reason !== 'leaseExpired' && deletions.some((span) => isAround(heardOf(span, silences), at, ttlMs + NOTICED_MS));
    // A wall clock measures its age.
    return !isDeleted && !jumps.some((jump) => jump.who === who && Math.abs(jump.at - at) < 2 * ttlMs);
  });
}

/**
 * While watches are silent, a deletion lasts as long as the silence for members that learn of it by
 * them.
 */
function heardOf(deletion: Span, silences: readonly Span[]): Span {
  const during = silences.filter(({ from, to }) => from <= deletion.to && deletion.from <= to);
  return { ...deletion, to: Math.max(deletion.to, ...during.map(({ to }) => to)) };
}

export const leasesLast: Rule = (history, { ttlMs }) => {
  const earlyEnd = earlyEndsIn(history);
  return earlyEndsOf(history, ttlMs).flatMap((end) => {
    if (earlyEnd(end.who, end.term) !== undefined) return [];
    const what = `${nameOf(end)} ended (${end.reason}) ${seconds(end.renewedMsAgo)} after a renewal that was acknowledged; the ttl is ${seconds(ttlMs)}`;
    return [{ promise: 'no lease ends before its time', at: end.at, what }];
  });
};

export const calmIsCalm: Rule = (history, { ttlMs }) => {
  const phases = only(history, 'phase');
  const lags = only(history, 'lagged').filter(({ ms }) => ms > LAG * ttlMs);
  return only(history, 'ended').flatMap((end) => {
    const phase = phases.findLast(({ at }) => at <= end.at);
    const isCalm = phase?.phase === 'calm' || phase?.phase === 'asked';
    const since = phases.findLast(({ at, phase: name }) => name === 'calm' && at <= end.at)?.at ?? Infinity;
    if (!end.lost || !isCalm || end.at - since < SETTLED_TTLS * ttlMs) return [];
    if (end.loopBlockedMs > LAG * ttlMs || lags.some(({ at }) => end.at - at < SETTLED_TTLS * ttlMs)) return [];
    return [{ promise: 'whoever leads in calm leads on', at: end.at, what: `${nameOf(end)} was lost: ${end.reason}` }];
  });
};
