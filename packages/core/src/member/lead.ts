/**
 * The loop of `lead`: runs the work once per term, until the work returns or its caller gives up.
 */

import { onAbort, orAborted } from '../async/abort.ts';
import { isIncumbentError } from '../base/errors.ts';
import type { Telemetry } from '../base/telemetry.ts';
import type { Leadership } from '../leadership/leadership.ts';
import { MAX_FLOOR } from '../protocol/terms.ts';

/** What the loop needs. */
export interface LeadContext {
  readonly election: string;
  readonly telemetry: Telemetry;
  /** Aborts when the member closes. */
  readonly closing: AbortSignal;
  /**
   * Called before the work begins. The member does not campaign again before this promise settles.
   */
  readonly workBegins: (work: Promise<unknown>) => void;
}

type Work<V, T> = (leadership: Leadership<V>) => Promise<T> | T;

/**
 * Resolves with the value of work that returned while it led. Rejects as that work threw, or as
 * `elect` rejects.
 */
export async function leadUntilDone<V, T>(
  context: LeadContext,
  work: Work<V, T>,
  elect: () => Promise<Leadership<V>>,
  signal: AbortSignal | undefined,
): Promise<T> {
  for (;;) {
    const done = await leadOnce(context, work, await elect(), signal);
    if (done !== undefined) return done.value;
  }
}

/** Runs the work for one term. Undefined if the member has to campaign again. */
async function leadOnce<V, T>(
  context: LeadContext,
  work: Work<V, T>,
  leadership: Leadership<V>,
  signal: AbortSignal | undefined,
): Promise<{ readonly value: T } | undefined> {
  const stop = onAbort(signal, () => void leadership.resignWhenDrained());
  if (!leadership.isValid()) {
    // The leadership ended right after the election: do not start the work.
    await leadership.released;
    stop();
    return undefined;
  }
  // Registered before the work starts, as the work may end the leadership synchronously.
  const { promise: result, resolve } = Promise.withResolvers<Result<T>>();
  context.workBegins(result);
  leadership.trackLeadWork(result);
  void settle(work, leadership).then(resolve);
  leadership.watch();
  await Promise.race([result, leadership.ended]);
  if (leadership.isValid()) await afterWork(await result, leadership);
  const { reason } = await leadership.ended;
  await leadership.released;
  stop();
  // Stuck work keeps this member from campaigning, but does not keep the caller from giving up.
  const settled = await unlessGivenUp(context, result, signal);
  if (reason === 'resigned') return unwrap(settled);
  if ('error' in settled && !isEnd(settled.error)) {
    context.telemetry.emit('workFailed', { election: context.election, term: leadership.term, error: settled.error });
  }
  return undefined;
}

async function unlessGivenUp<T>({ closing }: LeadContext, promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  signal?.throwIfAborted();
  closing.throwIfAborted();
  return orAborted(orAborted(promise, closing), signal);
}

/**
 * Resigns after work that ended while it led. Work that threw a fence's `STALE_TERM` ends as a loss
 * instead.
 */
async function afterWork<V>(result: Result<unknown>, leadership: Leadership<V>): Promise<void> {
  if ('error' in result && isIncumbentError(result.error, 'STALE_TERM')) {
    const { seen } = result.error.details;
    if (typeof seen === 'bigint' && seen > leadership.term && seen <= MAX_FLOOR) leadership.reportTerm(seen);
  }
  if (leadership.isValid()) await leadership.resign();
}

type Result<T> = { readonly value: T } | { readonly error: unknown };

async function settle<V, T>(work: Work<V, T>, leadership: Leadership<V>): Promise<Result<T>> {
  try {
    return { value: await work(leadership) };
  } catch (error) {
    return { error };
  }
}

function unwrap<T>(result: Result<T>): { readonly value: T } {
  if ('error' in result) throw result.error;
  return result;
}

/** Work that rethrows the signal's reason has not failed. */
function isEnd(error: unknown): boolean {
  return isIncumbentError(error, 'LEADERSHIP_ENDED') || (error instanceof Error && isIncumbentError(error.cause, 'LEADERSHIP_ENDED'));
}
