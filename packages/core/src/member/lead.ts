/**
 * Runs the work of `lead`: once per term, until the work returns or its caller gives up. Runs the
 * work of `tryLead`, and of `lead` with `once`, for one term.
 */

import { checkSignal, isAbort, onAbort, type SignalOptions, withSignals } from '../async/abort.ts';
import { Backoff } from '../async/backoff.ts';
import { sleep } from '../async/sleep.ts';
import type { Clock } from '../base/clock.ts';
import { isRetryable } from '../base/errors.ts';
import type { Random } from '../base/random.ts';
import type { Telemetry } from '../base/telemetry.ts';
import { checkBoolean, checkFunction, invalidOption } from '../base/validate.ts';
import type { Leadership } from '../leadership/leadership.ts';
import type { Timing } from '../lease/timing.ts';
import { reportStaleTerm } from '../protocol/terms.ts';

/** The options of `lead`. */
export interface LeadOptions extends SignalOptions {
  /**
   * With `true`, the work is called once: if its term ends before the work has returned, `lead`
   * rejects with `LEADERSHIP_ENDED` instead of campaigning and calling the work again. An error of
   * the work rejects `lead`, whatever it is. Default `false`.
   */
  readonly once?: boolean | undefined;
  /**
   * Which errors of the work are no reason to give up. After such an error the member resigns,
   * emits `workFailed`, waits and campaigns again. The wait grows from `retryEveryMs` to 30 s, and
   * starts anew when work has run for a ttl. Default `isRetryable`: the store was away, and the
   * work's own calls to it failed. A write of the work whose outcome is unknown may have been
   * applied: the next work has to read. `false`: every error rejects `lead`. If the function
   * throws, its error goes to the event `subscriberFailed`, and `lead` rejects with the work's.
   * Leave the option out with `once`.
   */
  readonly retry?: false | ((error: unknown) => boolean) | undefined;
}

/** What the loop needs. */
export interface LeadContext {
  readonly election: string;
  readonly telemetry: Telemetry;
  readonly clock: Clock;
  readonly random: Random;
  readonly timing: Timing;
  /** Aborts when the member closes. */
  readonly closing: AbortSignal;
  /**
   * Called before the work begins. The member does not campaign again before this promise settles.
   */
  readonly workBegins: (work: Promise<unknown>) => void;
}

/** The longest wait between two works that failed, in ms. */
const MAX_WAIT_MS = 30_000;

type Work<V, T> = (leadership: Leadership<V>) => Promise<T> | T;

/** The options of one call of `lead`, with their defaults. */
interface CheckedLeadOptions {
  readonly signal: AbortSignal | undefined;
  readonly once: boolean;
  readonly retry: (error: unknown) => boolean;
}

/** Checks the options of `lead`, and adds the defaults. Throws `INVALID_OPTION`. */
export function checkLeadOptions(options: LeadOptions): CheckedLeadOptions {
  const signal = checkSignal(options, ['once', 'retry']);
  const { retry = isRetryable } = options;
  const once = checkBoolean('once', options.once, false);
  if (once && options.retry !== undefined)
    throw invalidOption('retry', options.retry, 'left out with once: true, as the work is called once');
  if (retry !== false) checkFunction('retry', retry);
  return { signal, once, retry: retry === false ? () => false : retry };
}

/**
 * Resolves with the value of work that returned while it led. Rejects as that work threw, or as
 * `elect` rejects.
 */
export async function leadUntilDone<V, T>(
  context: LeadContext,
  work: Work<V, T>,
  elect: () => Promise<Leadership<V>>,
  { signal, once, retry }: CheckedLeadOptions,
): Promise<T | undefined> {
  if (once) return leadOneTerm(context, work, elect, signal);
  const { election, telemetry, clock, timing } = context;
  const backoff = new Backoff(context.random, timing.retryEveryMs, MAX_WAIT_MS);
  for (;;) {
    const leadership = await elect();
    const startedMs = clock.monotonic();
    const done = await workInTerm(context, work, leadership, { signal, campaignsAgain: true });
    if (clock.monotonic() - startedMs > timing.ttlMs) backoff.reset();
    if (done === 'termEnded') continue;
    if (!('error' in done)) return done.value;
    if (!isAccepted(context, retry, done.error)) throw done.error;
    // `retry` may abort the signal, or close the member.
    const campaignsAgain = signal?.aborted !== true && !context.closing.aborted;
    telemetry.emit('workFailed', { election, term: leadership.term, error: done.error, campaignsAgain });
    await withSignals([signal, context.closing], (over) => sleep(clock, backoff.next(), over));
  }
}

/**
 * Resolves with the value of work that returned while it led, or with undefined if `elect` does.
 * Rejects with the work's error, with `LEADERSHIP_ENDED` if the term ended first, or as `elect`
 * rejects.
 */
export async function leadOneTerm<V, T>(
  context: LeadContext,
  work: Work<V, T>,
  elect: () => Promise<Leadership<V> | undefined>,
  signal: AbortSignal | undefined,
): Promise<T | undefined> {
  const leadership = await elect();
  if (leadership === undefined) return undefined;
  const done = await workInTerm(context, work, leadership, { signal, campaignsAgain: false });
  if (done !== 'termEnded') {
    if ('error' in done) throw done.error;
    return done.value;
  }
  signal?.throwIfAborted();
  context.closing.throwIfAborted();
  throw leadership.signal.reason;
}

/** How work is run for one term. */
interface TermOptions {
  /** The leader resigns when it aborts. */
  readonly signal: AbortSignal | undefined;
  /** Whether the caller campaigns again after `termEnded`. */
  readonly campaignsAgain: boolean;
}

/**
 * Runs the work for one term. Resolves with what the work returned or threw if its leadership ended
 * by a resignation, or with `termEnded` if it ended in another way, such as a loss or a handover.
 */
async function workInTerm<V, T>(
  context: LeadContext,
  work: Work<V, T>,
  leadership: Leadership<V>,
  { signal, campaignsAgain }: TermOptions,
): Promise<Result<T> | 'termEnded'> {
  const stop = onAbort(signal, () => void leadership.resignWhenDrained());
  if (!leadership.isValid()) {
    // The leadership ended right after the election: do not start the work.
    await leadership.released;
    stop();
    return 'termEnded';
  }
  // Registered before the work starts, as the work may end the leadership synchronously.
  const { promise: result, resolve } = Promise.withResolvers<Result<T>>();
  context.workBegins(result);
  const { telemetry, election } = context;
  reportWork(telemetry, election, leadership.term);
  leadership.drain.trackLeadWork(result);
  void settle(work, leadership).then(resolve);
  leadership.watch();
  await Promise.race([result, leadership.ended]);
  if (leadership.isValid()) {
    const done = await result;
    if ('error' in done) await leadership.resignWhenDrained(done);
    else await leadership.resign();
  }
  const { reason } = await leadership.ended;
  await leadership.released;
  stop();
  const reportFailure = (settled: Result<T>, willCampaign: boolean): void => {
    if (!('error' in settled) || isAbort(settled.error, [signal, context.closing])) return;
    telemetry.emit('workFailed', { election, term: leadership.term, error: settled.error, campaignsAgain: willCampaign });
  };
  // Stuck work keeps this member from campaigning, but does not keep the caller from giving up.
  const settled = await withSignals([signal, context.closing], () => result).catch((givenUp: unknown) => {
    // The caller gets the reason for giving up, so the error of the work would be lost.
    void result.then((late) => reportFailure(late, false));
    throw givenUp;
  });
  if (reason === 'resigned' || reason === 'workFailed') return settled;
  reportFailure(settled, campaignsAgain);
  return 'termEnded';
}

/** What `beginAfterCampaign` needs of a leadership. Public types do not have its `watch`. */
interface BegunLeadership {
  readonly term: bigint;
  watch(): void;
}

/**
 * Starts the leadership that the caller of `campaign` receives. Begins its watch two microtasks
 * later, when an `await` of the campaign has resumed: the first calls of the caller go first.
 */
export function beginAfterCampaign({ telemetry, election }: LeadContext, campaign: Promise<BegunLeadership>): void {
  const begin = (leadership: BegunLeadership): void => {
    reportWork(telemetry, election, leadership.term);
    queueMicrotask(() => queueMicrotask(() => leadership.watch()));
  };
  campaign.then(begin, () => {});
}

/** Reports that the work of a term is about to start. */
function reportWork(telemetry: Telemetry, election: string, term: bigint): void {
  if (telemetry.wants('workStarted')) telemetry.emit('workStarted', { election, term });
}

/** What the work returned or threw. */
type Result<T> = { readonly value: T } | { readonly error: unknown };

/**
 * Calls the work. Work that throws a fence's `STALE_TERM` ends its leadership as a loss. If the
 * leadership has ended before, the member's next claim still takes a higher term.
 */
async function settle<V, T>(work: Work<V, T>, leadership: Leadership<V>): Promise<Result<T>> {
  try {
    return { value: await work(leadership) };
  } catch (error) {
    reportStaleTerm(error, leadership);
    return { error };
  }
}

/** Asks `retry`. If it throws, `lead` rejects with the error of the work, which matters more. */
function isAccepted({ election, telemetry }: LeadContext, retry: CheckedLeadOptions['retry'], error: unknown): boolean {
  try {
    return retry(error);
  } catch (failure) {
    telemetry.emit('subscriberFailed', { election, error: failure });
    return false;
  }
}
