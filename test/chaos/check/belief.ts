/** At no instant do two believe. */

import { headerOf, only, type ChaosEvent, type Excuse } from '../history.ts';
import { isAround, nameOf, seconds, spansOf, type Rule } from './rule.ts';

/** A leadership that was believed in after a newer one had begun. */
export interface Overlap {
  readonly who: string;
  readonly term: bigint;
  readonly newer: bigint;
  /** When the newer one had begun, in ms. */
  readonly at: number;
  readonly ms: number;
  /** Whether the store is known to do so, after what was done to it. */
  readonly excused: boolean;
}

/**
 * Sound whatever the processes did between two instructions: a belief is stamped before it is asked for, so it held then or later; an election after it was told, so it had
 * been won by then.
 */
export function overlapsOf(history: readonly ChaosEvent[]): readonly Overlap[] {
  const { excuse } = headerOf(history);
  const elected = only(history, 'elected');
  const faults = spansOf(only(history, 'fault'));
  return [...Map.groupBy(only(history, 'believed'), nameOf).values()].flatMap((own) => {
    const last = own.reduce((a, b) => (a.at > b.at ? a : b));
    const newer = elected.filter(({ term, at }) => term > last.term && at < last.at).toSorted((a, b) => a.at - b.at)[0];
    if (newer === undefined) return [];
    const ms = last.at - newer.at;
    const caused = faults.some((span) => excuse?.after.includes(span.fault) === true && isAround(span, newer.at, excuse.withinMs));
    const excused = caused && ms <= (excuse?.overlapMs ?? 0);
    return [{ who: last.who, term: last.term, newer: newer.term, at: newer.at, ms, excused }];
  });
}

export const oneBelieves: Rule = (history, { excuse }) =>
  overlapsOf(history).flatMap((overlap) => {
    if (overlap.excused) return [];
    const what = `${nameOf(overlap)} believed for ${seconds(overlap.ms)} after term ${overlap.newer} had begun${allowed(excuse)}`;
    return [{ promise: 'one believes', at: overlap.at, what }];
  });

function allowed(excuse: Excuse | undefined): string {
  return excuse === undefined
    ? ''
    : `; ${seconds(excuse.overlapMs)} are excused, within ${seconds(excuse.withinMs)} of ${excuse.after.join(', ')}`;
}
