/** The loop of `lead`: runs the work once in each term, until the work is done or its caller gives up. */

import { onAbort, orAborted } from '../async/abort.ts';
import { isIncumbentError } from '../base/errors.ts';
import type { Telemetry } from '../base/telemetry.ts';
import type { Leadership } from '../leadership/leadership.ts';
import { MAX_FLOOR } from '../protocol/terms.ts';

export interface LeadContext {
  readonly election: string;
  readonly telemetry: Telemetry;
  /** Aborts when the member closes. */
  readonly closing: AbortSignal;
  /** Called before the work begins: the member does not campaign again before this promise settles. */
  readonly workBegins: (work: Promise<unknown>) => void;
}

type Work<V, T> = (leadership: Leadership<V>) => Promise<T> | T;

/** Resolves with the value of the work that returned while it led. Rejects as that work threw, or as `elect` does. */
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

/** One term of `lead`; undefined when it is to campaign again. */
async function leadOnce<V, T>(
  context: LeadContext,
  work: Work<V, T>,
  leadership: Leadership<V>,
  signal: AbortSignal | undefined,
): Promise<{ readonly value: T } | undefined> {
  const stop = onAbort(signal, () => void leadership.resignWhenDrained());
  if (!leadership.isValid()) {
    // It ended in the moment since it was elected: there is nothing to begin.
    await leadership.released;
    stop();
    return undefined;
  }
  // Told of before it begins: it may bring its own end about in its first breath.
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
  // Work that is stuck keeps this member from campaigning, but not its caller from giving up.
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

/** Work that is over while it leads resigns; unless a fence told it that its term is behind: that is a loss. */
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

/** The signal's own reason, passed on by work that was told to stop, is no failure. */
function isEnd(error: unknown): boolean {
  return isIncumbentError(error, 'LEADERSHIP_ENDED') || (error instanceof Error && isIncumbentError(error.cause, 'LEADERSHIP_ENDED'));
}
