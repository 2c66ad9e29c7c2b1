/** What the store's own records say of the leases that leaderships rested on. */

import { headerOf, only, type ChaosEvent, type Who } from '../history.ts';

/** A lease that the store ended before the time that it had vouched for. */
interface EarlyEnd {
  /** When the store was first known to keep the lease no longer, in ms. */
  readonly goneAt: number;
  /** Until when the last acknowledged renewal vouched for the lease, in ms. */
  readonly vouchedUntil: number;
}

/**
 * Finds the leaderships whose lease the store ended early: the store says of itself that it may,
 * and a witness read that the lease was gone before the time that the last renewal had vouched for.
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
