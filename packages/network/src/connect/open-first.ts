/** Dials several servers so that a dead one costs little time. */

import type { Cancel, Clock } from '@incumbent/core';
import { onAbort } from '@incumbent/core/adapter';

import type { Endpoint } from './endpoint.ts';

/** After so many ms without a connection, the next server is dialled too. */
const STAGGER_MS = 250;

/** How {@link openFirst} opens and discards connections. */
export interface OpenFirstOptions<T> {
  readonly clock: Clock;
  /** Gives up. */
  readonly signal: AbortSignal;
  /**
   * Opens a connection to one server. Rejects soon after its signal aborts. Must not use the signal
   * after it has resolved.
   */
  open(endpoint: Endpoint, signal: AbortSignal): Promise<T>;
  /** Frees a connection that opened although another one had won. */
  discard(opened: T): void;
}

/**
 * Dials the servers in this order. The next one is dialled when one fails, or after 250 ms beside
 * those that are still being dialled. The first connection to open wins. Then the signal of all
 * attempts aborts, also that of the winner.
 *
 * @throws The last failure when all servers have failed, or the signal's reason.
 */
export async function openFirst<T>(endpoints: readonly Endpoint[], { clock, signal, open, discard }: OpenFirstOptions<T>): Promise<T> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const dial = new AbortController();
  const waiting = [...endpoints];
  let underWay = 0;
  let cancelNext: Cancel = () => {};
  const begin = (): void => {
    cancelNext();
    const endpoint = waiting.shift();
    if (endpoint === undefined) return;
    underWay += 1;
    if (waiting.length > 0) cancelNext = clock.schedule(STAGGER_MS, begin);
    open(endpoint, dial.signal).then(onOpened, onFailed);
  };
  const finish = (settle: () => void, reason: unknown): void => {
    cancelNext();
    settle();
    dial.abort(reason);
  };
  const onOpened = (opened: T): void => {
    if (dial.signal.aborted) discard(opened);
    else finish(() => resolve(opened), new Error('another server was faster'));
  };
  const onFailed = (error: unknown): void => {
    underWay -= 1;
    if (dial.signal.aborted) return;
    if (waiting.length > 0) begin();
    else if (underWay === 0) finish(() => reject(error), error);
  };
  const cancel = onAbort(signal, () => finish(() => reject(signal.reason), signal.reason));
  begin();
  try {
    return await promise;
  } finally {
    cancel();
  }
}
