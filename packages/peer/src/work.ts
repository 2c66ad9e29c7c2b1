/** The work of a leader, from its start until its leadership is released. */

import { isIncumbentError } from '@incumbent/core';
import { onAbort } from '@incumbent/core/adapter';
import type { Safety } from './algorithm.ts';
import type { PeerLeadership } from './leadership.ts';

export type Work<S extends Safety, T> = (leadership: PeerLeadership<S>) => Promise<T> | T;

export type Result<T> = { readonly value: T } | { readonly error: unknown };

/** Runs the work; never rejects. The leadership is told of it before it begins: it may bring its own end about in its first breath. */
export function begin<S extends Safety, T>(work: Work<S, T>, leadership: PeerLeadership<S>): Promise<Result<T>> {
  const { promise, resolve } = Promise.withResolvers<Result<T>>();
  leadership.runs(promise);
  void settle(work, leadership).then(resolve);
  return promise;
}

async function settle<S extends Safety, T>(work: Work<S, T>, leadership: PeerLeadership<S>): Promise<Result<T>> {
  try {
    return { value: await work(leadership) };
  } catch (error) {
    return { error };
  }
}

/** Until the leadership, which knows of the work, is released: because it ended, because the signal aborted, or because the work is done, which resigns. Tells why it ended. */
export async function served<S extends Safety>(
  leadership: PeerLeadership<S>,
  result: Promise<unknown>,
  signal: AbortSignal | undefined,
): Promise<string> {
  const stop = onAbort(signal, () => void leadership.giveUp('resigned'));
  await Promise.race([result, leadership.ended]);
  if (leadership.isValid()) await leadership.resign();
  const { reason } = await leadership.ended;
  await leadership.released;
  stop();
  return reason;
}

export function unwrap<T>(result: Result<T>): { readonly value: T } {
  if ('error' in result) throw result.error;
  return result;
}

/** The signal's own reason, passed on by work that was told to stop, is no failure. */
export function isEnd(error: unknown): boolean {
  return isIncumbentError(error, 'LEADERSHIP_ENDED') || (error instanceof Error && isIncumbentError(error.cause, 'LEADERSHIP_ENDED'));
}
