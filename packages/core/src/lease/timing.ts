/**
 * The durations of a member, and the inequalities between them.
 *
 * A leader is valid until its deadline, `validFrom + ttl − margin − drain`. The margin is
 * `max(2ρ/(1+ρ) × ttl, 50 ms)`. It covers clocks whose rates differ from true time by up to ρ: the
 * leader's clock may be slow by ρ while the store's is fast by ρ. (Gray and Cheriton, "Leases",
 * SOSP 1989, section 5, names the condition. The factor is the worst case of both errors at once.)
 */

import { IncumbentError } from '../base/errors.ts';
import { checkNumber, invalidOption } from '../base/validate.ts';
import type { Store, StoreCapabilities } from '../store/contract.ts';

/**
 * The durations of a member, in ms, and the error of its clock's rate. They must leave room for two
 * renewals before the deadline: a member's constructor throws `INVALID_OPTION` otherwise.
 */
export interface TimingOptions {
  /**
   * How long the store keeps a member's keys after the member's last renewal. After a crash, the
   * others wait at most this long, less the time since that renewal. From 250 to 86,400,000, and
   * within the store's `minTtlMs` and `maxTtlMs`. Default 10,000, or the nearest that the store
   * allows.
   */
  readonly ttlMs?: number | undefined;
  /**
   * The time between two renewals. From 10 to the ttl. Default a third of the ttl, or a little more
   * than a quarter on a store with a `renewalLag` (see `StoreCapabilities`).
   */
  readonly renewEveryMs?: number | undefined;
  /**
   * The delay before a failed renewal is retried, randomized by ±25 %. From 5 to the ttl. Default a
   * twentieth of the ttl.
   */
  readonly retryEveryMs?: number | undefined;
  /**
   * The most that one call to the store may take. From 10 to the ttl. Default a quarter of the ttl,
   * or a sixth on a store with a `renewalLag`, and at most 5,000. After a call of a campaign has
   * timed out, the next one may take twice as long, up to half of the ttl.
   */
  readonly callTimeoutMs?: number | undefined;
  /**
   * How long the work may take to stop after the abort, before the leadership is released. From 0
   * to half of the ttl. More than about a third of the ttl (a fifth on ZooKeeper) needs a smaller
   * `renewEveryMs` or `callTimeoutMs`. Default a tenth of the ttl.
   */
  readonly drainMs?: number | undefined;
  /**
   * The largest error in the rate of this machine's or the store's clock: 0.01 is 1 %. From 0 to
   * 0.1. Default 0.01.
   */
  readonly clockErrorRatio?: number | undefined;
  /**
   * How long other candidates hold back for the successor of a handover, on stores where a handover
   * takes two steps. From 0 to the ttl. Default half of the ttl.
   */
  readonly successorClaimTimeoutMs?: number | undefined;
}

/** The names of the options. */
export const timingOptions = [
  'ttlMs',
  'renewEveryMs',
  'retryEveryMs',
  'callTimeoutMs',
  'drainMs',
  'clockErrorRatio',
  'successorClaimTimeoutMs',
] as const;

/** The durations of a member with their defaults filled in. See {@link TimingOptions}. */
export type Timing = { readonly [Name in keyof TimingOptions]-?: number };

/** The least margin. With the default `clockErrorRatio`, it applies to ttls below 2.5 s. */
const MIN_MARGIN_MS = 50;
/**
 * The largest random change of `retryEveryMs`, as a fraction of it. It spreads the retries of many
 * members.
 */
export const RETRY_SPREAD = 0.25;
/** The shortest ttl, whatever the store allows. */
export const MIN_TTL_MS = 250;
/** The longest ttl, whatever the store allows. */
export const MAX_TTL_MS = 86_400_000;

/**
 * How far two clocks may differ after some time, as a fraction of that time, if one is slow by the
 * ratio and the other one is fast by it.
 */
export function marginRatio(clockErrorRatio: number): number {
  return (2 * clockErrorRatio) / (1 + clockErrorRatio);
}

/** The safety margin that is subtracted from the ttl, in ms. See the comment of this file. */
export function marginMs(ttlMs: number, clockErrorRatio: number): number {
  return Math.max(marginRatio(clockErrorRatio) * ttlMs, MIN_MARGIN_MS);
}

/** How long after `validFrom` a leader is valid, in ms. */
export function validMs(ttlMs: number, timing: Timing): number {
  return ttlMs - marginMs(ttlMs, timing.clockErrorRatio) - timing.drainMs;
}

/**
 * The greatest age of `validFrom` at the moment when the next renewal is due, in ms. Without a lag,
 * the last renewal is one interval old. With a lag, `validFrom` is the sending of an earlier one.
 */
export function maxAgeAtRenewalMs(renewEveryMs: number, ttlMs: number, { renewalLag = 0 }: StoreCapabilities): number {
  return renewalLag === 0 ? renewEveryMs : (1 + Math.ceil((renewalLag * ttlMs) / renewEveryMs)) * renewEveryMs;
}

/**
 * Fills in the defaults, and checks the ranges and the inequalities. Throws `INVALID_OPTION`, with
 * the numbers of the inequality in the message.
 */
export function resolveTiming(options: TimingOptions, storeName: string, capabilities: StoreCapabilities): Timing {
  const timing = fillIn(options, storeName, capabilities);
  if (spareMs(timing, capabilities) < 0) throw noSecondTry(timing, options, storeName, capabilities);
  return timing;
}

function fillIn(options: TimingOptions, storeName: string, capabilities: StoreCapabilities): Timing {
  const min = Math.max(MIN_TTL_MS, capabilities.minTtlMs);
  const max = Math.min(MAX_TTL_MS, capabilities.maxTtlMs);
  const ttlMs = checkNumber('ttlMs', options.ttlMs, Math.min(Math.max(10_000, min), max), { min, max, why: `with the store ${storeName}` });
  const { renewalLag = 0 } = capabilities;
  // With a lag, a renewal counts only from an earlier one that is at least `renewalLag × ttl` old.
  // Renewals that are 4 % further apart than that count from the one right before, even if a timer
  // fires a little early.
  const [renewEveryMs, callMs] = renewalLag === 0 ? [ttlMs / 3, ttlMs / 4] : [ttlMs * Math.max(renewalLag * 1.04, 0.26), ttlMs / 6];
  return {
    ttlMs,
    renewEveryMs: checkNumber('renewEveryMs', options.renewEveryMs, renewEveryMs, { min: 10, max: ttlMs }),
    retryEveryMs: checkNumber('retryEveryMs', options.retryEveryMs, ttlMs / 20, { min: 5, max: ttlMs }),
    callTimeoutMs: checkNumber('callTimeoutMs', options.callTimeoutMs, Math.min(callMs, 5_000), { min: 10, max: ttlMs }),
    drainMs: checkNumber('drainMs', options.drainMs, ttlMs / 10, { min: 0, max: ttlMs / 2, why: 'at most half of ttlMs' }),
    clockErrorRatio: checkNumber('clockErrorRatio', options.clockErrorRatio, 0.01, { min: 0, max: 0.1 }),
    successorClaimTimeoutMs: checkNumber('successorClaimTimeoutMs', options.successorClaimTimeoutMs, ttlMs / 2, { min: 0, max: ttlMs }),
  };
}

/**
 * The longest `drainMs` that the other durations (or their defaults) leave room for, in ms. Below 0
 * if they leave no room.
 */
export function longestDrainMs(options: TimingOptions, store: Pick<Store, 'name' | 'capabilities'>): number {
  const timing = resolveTiming({ ...options, drainMs: 0 }, store.name, store.capabilities);
  return Math.min(timing.ttlMs / 2, validMs(timing.ttlMs, timing) - twoTriesMs(timing, store.capabilities));
}

/**
 * The age of `validFrom`, in ms, when a renewal has timed out at a silent server, and the retry was
 * answered by another server.
 */
function twoTriesMs({ ttlMs, renewEveryMs, retryEveryMs, callTimeoutMs }: Timing, capabilities: StoreCapabilities): number {
  const { reconnectsWithinMs = 0 } = capabilities;
  return maxAgeAtRenewalMs(renewEveryMs, ttlMs, capabilities) + callTimeoutMs + retryEveryMs * (1 + RETRY_SPREAD) + reconnectsWithinMs;
}

/**
 * The time that is left at the deadline after a renewal that failed once, in ms. It must not be
 * below 0. Otherwise every lost packet would end a leadership.
 */
function spareMs(timing: Timing, capabilities: StoreCapabilities): number {
  return validMs(timing.ttlMs, timing) - twoTriesMs(timing, capabilities);
}

function noSecondTry(timing: Timing, options: TimingOptions, storeName: string, capabilities: StoreCapabilities): Error {
  const { ttlMs, renewEveryMs, drainMs } = timing;
  const longestMs = validMs(ttlMs, timing);
  const margin = Math.round(ttlMs - longestMs - drainMs);
  const times = Math.round(maxAgeAtRenewalMs(renewEveryMs, ttlMs, capabilities) / renewEveryMs);
  const { reconnectsWithinMs = 0 } = capabilities;
  const leaving = reconnectsWithinMs === 0 ? '' : ` + the ${reconnectsWithinMs} ms that ${storeName} needs to leave a silent server`;
  const works = (changed: TimingOptions): boolean =>
    spareMs(fillIn({ ...options, ...changed }, storeName, capabilities), capabilities) >= 0;
  return invalidOption(
    `${times === 1 ? '' : `${times} × `}renewEveryMs + callTimeoutMs + ${1 + RETRY_SPREAD} × retryEveryMs${leaving}`,
    Math.round(twoTriesMs(timing, capabilities)),
    `at most ttlMs − margin − drainMs = ${Math.round(ttlMs)} − ${margin} − ${Math.round(drainMs)} = ${Math.round(longestMs)}, ` +
      `so that a renewal that fails once can be tried again before the deadline${remedies(timing, options, works, capabilities.maxTtlMs)}`,
  );
}

/** The lowest value of each option that shortens the time until the second try, or the drain. */
const LOWEST_MS = { drainMs: 0, renewEveryMs: 10, callTimeoutMs: 10, retryEveryMs: 5 } as const;

/**
 * The end of the message: each option that the caller has set and can lower, and the ttl that makes
 * room for all of them. If only defaults could be lowered, it names those.
 */
function remedies(timing: Timing, options: TimingOptions, works: (changed: TimingOptions) => boolean, maxTtlMs: number): string {
  const lower = (['drainMs', 'renewEveryMs', 'callTimeoutMs', 'retryEveryMs'] as const).flatMap((name) => {
    const ms = nearestThatWorks(timing[name], LOWEST_MS[name], (value) => works({ [name]: value }));
    return ms === undefined ? [] : [{ isSet: options[name] !== undefined, text: `lower ${name} to at most ${ms}` }];
  });
  const ofCaller = lower.filter(({ isSet }) => isSet);
  const ttlMs = nearestThatWorks(timing.ttlMs, Math.min(maxTtlMs, MAX_TTL_MS), (value) => works({ ttlMs: value }));
  const all = [
    ...(ofCaller.length === 0 ? lower : ofCaller).map(({ text }) => text),
    ...(ttlMs === undefined ? [] : [`raise ttlMs to at least ${ttlMs}`]),
  ];
  return all.length === 0 ? '' : `: ${all.join(', or ')}`;
}

/**
 * The whole number that works and is nearest to `refused`, on the way to the whole number `last`.
 * Undefined if `last` does not work.
 */
function nearestThatWorks(refused: number, last: number, works: (value: number) => boolean): number | undefined {
  if (!works(last)) return undefined;
  let [good, bad] = [last, last < refused ? Math.ceil(refused) : Math.floor(refused)];
  while (Math.abs(good - bad) > 1) {
    const middle = Math.trunc((good + bad) / 2);
    if (works(middle)) good = middle;
    else bad = middle;
  }
  return good;
}

/**
 * Throws `LEASE_TOO_SHORT` if the store granted a lease that leaves no time for two renewals before
 * its deadline.
 */
export function checkGranted(grantedMs: number, timing: Timing, { name, capabilities }: Pick<Store, 'name' | 'capabilities'>): void {
  const { ttlMs: askedMs } = timing;
  const renewEveryMs = timing.renewEveryMs * (grantedMs / askedMs);
  if (grantedMs >= askedMs || validMs(grantedMs, timing) >= maxAgeAtRenewalMs(renewEveryMs, grantedMs, capabilities) + renewEveryMs) return;
  throw new IncumbentError('LEASE_TOO_SHORT', `asked for a lease of ${askedMs} ms, ${name} granted ${grantedMs} ms: too short to lead by`, {
    details: { askedMs, grantedMs },
  });
}
