/** At no instant are two leaders valid. */

import { only, type ChaosEvent } from '../history.ts';
import { earlyEndsIn } from './leases.ts';
import { nameOf, seconds, type Rule } from './rule.ts';

/** A leadership that was valid after a newer one had begun. */
export interface Overlap {
  readonly who: string;
  readonly term: bigint;
  readonly newer: bigint;
  /** When the newer leadership had begun, in ms. */
  readonly at: number;
  readonly ms: number;
  /**
   * Whether the store ended the lease early, and the leadership was valid no longer than the store
   * had guaranteed.
   */
  readonly excused: boolean;
}

/**
 * Never reports a false violation, wherever processes were stopped. The timestamp of a valid
 * leadership is taken before the call of `isValid()`, so it was valid then or later. An election is
 * recorded after it was reported, so it was won by then.
 */
export function overlapsOf(history: readonly ChaosEvent[]): readonly Overlap[] {
  const elected = only(history, 'elected');
  const earlyEnd = earlyEndsIn(history);
  return [...Map.groupBy(only(history, 'valid'), nameOf).values()].flatMap((own) => {
    const last = own.reduce((a, b) => (a.at > b.at ? a : b));
    const newer = elected.filter(({ term, at }) => term > last.term && at < last.at).toSorted((a, b) => a.at - b.at)[0];
    if (newer === undefined) return [];
    const ms = last.at - newer.at;
    const early = earlyEnd(last.who, last.term);
    const excused = early !== undefined && last.at <= early.vouchedUntil;
    return [{ who: last.who, term: last.term, newer: newer.term, at: newer.at, ms, excused }];
  });
}

export const oneValidLeader: Rule = (history) =>
  overlapsOf(history).flatMap((overlap) => {
    if (overlap.excused) return [];
    const what = `${nameOf(overlap)} was valid for ${seconds(overlap.ms)} after term ${overlap.newer} had begun`;
    return [{ promise: 'one valid leader', at: overlap.at, what }];
  });
