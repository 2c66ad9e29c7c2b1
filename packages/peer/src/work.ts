/** Runs the work of `lead`, from its start until the leadership is released. */

import { onAbort, reportStaleTerm } from '@incumbent/core/adapter';
import type { PeerEndReason, Safety } from './algorithm.ts';
import type { PeerLeadership } from './leadership.ts';

export type Work<S extends Safety, T> = (leadership: PeerLeadership<S>) => Promise<T> | T;

export type Result<T> = { readonly value: T } | { readonly error: unknown };

/**
 * Starts the work. Never rejects. The leadership tracks the work before it starts, as it may resign
 * at once.
 */
export function startWork<S extends Safety, T>(work: Work<S, T>, leadership: PeerLeadership<S>): Promise<Result<T>> {
  const { promise, resolve } = Promise.withResolvers<Result<T>>();
  leadership.drain.trackLeadWork(promise);
  void settle(work, leadership).then(resolve);
  return promise;
}

/**
 * Calls the work. Work that throws a fence's `STALE_TERM` ends its leadership as a loss. If the
 * leadership has ended before, the member's next term is still higher.
 */
async function settle<S extends Safety, T>(work: Work<S, T>, leadership: PeerLeadership<S>): Promise<Result<T>> {
  try {
    return { value: await work(leadership) };
  } catch (error) {
    reportStaleTerm(error, leadership);
    return { error };
  }
}

/**
 * Waits until the leadership is released, and returns the reason of its end. Resigns when the work
 * has ended or the signal aborts.
 */
export async function untilReleased<S extends Safety>(
  leadership: PeerLeadership<S>,
  result: Promise<Result<unknown>>,
  signal: AbortSignal | undefined,
): Promise<PeerEndReason> {
  const stop = onAbort(signal, () => void leadership.resignWhenDrained('resigned'));
  await Promise.race([result, leadership.ended]);
  if (leadership.isValid()) await resignAfter(await result, leadership);
  const { reason } = await leadership.ended;
  await leadership.released;
  stop();
  return reason;
}

async function resignAfter<S extends Safety>(result: Result<unknown>, leadership: PeerLeadership<S>): Promise<void> {
  if ('error' in result) await leadership.resignAfterFailure(result.error);
  else await leadership.resign();
}

export function unwrap<T>(result: Result<T>): { readonly value: T } {
  if ('error' in result) throw result.error;
  return result;
}
