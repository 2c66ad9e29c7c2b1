/** A member leads within a bounded time after all faults were healed. */

import { only, type ChaosEvent } from '../history.ts';
import { seconds, type Rule } from './rule.ts';

export interface Recovery {
  /** When all faults were healed, in ms. */
  readonly at: number;
  /**
   * How long until a member was a valid leader, in ms. Infinity if none was before the next storm.
   */
  readonly tookMs: number;
}

export function recoveriesOf(history: readonly ChaosEvent[]): readonly Recovery[] {
  const phases = only(history, 'phase');
  const valid = only(history, 'valid');
  return phases.flatMap(({ phase, at }) => {
    if (phase !== 'calm') return [];
    const end = phases.find((next) => next.at > at && (next.phase === 'storm' || next.phase === 'over'))?.at ?? Infinity;
    const first = valid.reduce((min, validity) => (validity.at >= at && validity.from < min ? Math.max(validity.from, at) : min), Infinity);
    return [{ at, tookMs: first < end ? first - at : Infinity }];
  });
}

export const somebodyLeads: Rule = (history, { recoveryMs }) =>
  recoveriesOf(history).flatMap(({ at, tookMs }) => {
    if (tookMs <= recoveryMs) return [];
    const took = tookMs === Infinity ? 'nobody led any more' : `it took ${seconds(tookMs)}`;
    return [{ promise: 'somebody leads in the end', at, what: `${took} after all was healed; ${seconds(recoveryMs)} are allowed` }];
  });
