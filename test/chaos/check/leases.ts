/** What the store reports about the leases of leaderships. */

import { headerOf, only, type ChaosEvent, type Who } from '../history.ts';

/** A lease that the store ended before the time that it had guaranteed. */
interface EarlyEnd {
  /** When the store was first known to have ended the lease, in ms. */
  readonly goneAt: number;
  /** Until when the last acknowledged renewal guaranteed the lease, in ms. */
  readonly vouchedUntil: number;
}

/**
 * Finds the leaderships whose lease the store ended early. The store declares that it may do so,
 * and the lease monitor read that the lease was gone before the time that the last renewal had
 * guaranteed.
 */
export function earlyEndsIn(history: readonly ChaosEvent[]): (who: Who, term: bigint) => EarlyEnd | undefined {
  if (headerOf(history).endsEarly === undefined) return () => undefined;
  const announced = only(history, 'announced');
  const gone = only(history, 'leaseGone');
  const renewed = Map.groupBy(only(history, 'renewed'), ({ lease }) => lease);
  return (who, term) => {
    const lease = announced.find((event) => event.who === who && event.term === term && event.what === 'elected')?.lease;
    const goneAt = gone.find((event) => event.lease === lease)?.at;
    if (lease === undefined || goneAt === undefined) return undefined;
    const vouchedUntil = Math.max(...(renewed.get(lease) ?? []).map(({ from, ttlMs }) => from + ttlMs));
    return goneAt < vouchedUntil ? { goneAt, vouchedUntil } : undefined;
  };
}
