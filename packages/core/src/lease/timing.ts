/**
 * The durations of a member, and the inequalities between them.
 *
 * A leader is valid until its deadline, `validFrom + ttl − margin − drain`. The margin is
 * `max(2ρ/(1+ρ) × ttl, 50 ms)`. It covers clocks whose rates differ from true time by up to ρ: the
 * leader's clock may be slow by ρ while the store's is fast by ρ. (Gray and Cheriton, "Leases",
 * SOSP 1989, section 5, names the condition. The factor is the worst case of both errors at once.)
 */

import { checkNumber, invalidOption } from '../base/validate.ts';
import type { Store, StoreCapabilities } from '../store/contract.ts';

export interface TimingOptions {
  /**
   * How long the store keeps a silent member's keys after its last renewal, in ms: the longest
   * vacancy after a crash, less what the renewal's phase takes off. From 250 to 86,400,000, and
   * within the store's own limits. Default 10,000.
   */
  readonly ttlMs?: number;
  /**
   * Time between renewals, in ms. Default a third of the ttl; a little over a quarter where the
   * store's renewals lag (`capabilities.renewalLag`).
   */
  readonly renewEveryMs?: number;
  /** Wait before a failed renewal is tried again, in ms. Default a twentieth of the ttl. */
  readonly retryEveryMs?: number;
  /**
   * The most that one call to the store may take, in ms. Default a quarter of the ttl, or a sixth
   * where renewals lag, 5,000 at most.
   */
  readonly callTimeoutMs?: number;
  /**
   * What the work gets to stop, between the abort and the release, in ms. From 0 to half of the
   * ttl. Default a tenth of the ttl.
   */
  readonly drainMs?: number;
  /**
   * How far the rate of this machine's or the store's clock may be off: 0.01 is 1 %. From 0 to 0.1.
   * Default 0.01.
   */
  readonly clockErrorRatio?: number;
  /**
   * How long others hold back for the successor of a handover, in ms, on stores where that takes
   * two steps. From 0 to the ttl. Default half the ttl.
   */
  readonly successorClaimTimeoutMs?: number;
}

export const timingOptions = [
  'ttlMs',
  'renewEveryMs',
  'retryEveryMs',
  'callTimeoutMs',
  'drainMs',
  'clockErrorRatio',
  'successorClaimTimeoutMs',
] as const;

export type Timing = Readonly<Required<TimingOptions>>;

const MIN_MARGIN_MS = 50;
/**
 * A failed renewal is tried again after `retryEveryMs`, less or more by this part of it, so that
 * many do not come back together.
 */
export const RETRY_SPREAD = 0.25;
const MIN_TTL_MS = 250;
const MAX_TTL_MS = 86_400_000;

/**
 * The part of a time that two clocks may differ by at its end, when the one runs slow by the ratio
 * and the other fast.
 */
export function marginRatio(clockErrorRatio: number): number {
  return (2 * clockErrorRatio) / (1 + clockErrorRatio);
}

/** What is taken off a ttl for clocks that run at different rates. */
export function marginMs(ttlMs: number, clockErrorRatio: number): number {
  return Math.max(marginRatio(clockErrorRatio) * ttlMs, MIN_MARGIN_MS);
}

/** How long after `validFrom` a leader is valid, in ms. */
export function validMs(ttlMs: number, timing: Timing): number {
  return ttlMs - marginMs(ttlMs, timing.clockErrorRatio) - timing.drainMs;
}

/** How long ago the moment that the store vouches from may lie when the next renewal is due. */
export function oldestMs(renewEveryMs: number, ttlMs: number, { renewalLag = 0 }: StoreCapabilities): number {
  return renewalLag === 0 ? renewEveryMs : (1 + Math.ceil((renewalLag * ttlMs) / renewEveryMs)) * renewEveryMs;
}

/** Defaults filled in, ranges and inequalities checked. */
export function resolveTiming(options: TimingOptions, storeName: string, capabilities: StoreCapabilities): Timing {
  const min = Math.max(MIN_TTL_MS, capabilities.minTtlMs);
  const max = Math.min(MAX_TTL_MS, capabilities.maxTtlMs);
  const ttlMs = checkNumber('ttlMs', options.ttlMs, Math.min(Math.max(10_000, min), max), { min, max, why: `with the store ${storeName}` });
  const { renewalLag = 0 } = capabilities;
  // The one before must lie so far back, and timers may be a little early.
  const [renewEveryMs, callMs] = renewalLag === 0 ? [ttlMs / 3, ttlMs / 4] : [ttlMs * Math.max(renewalLag * 1.04, 0.26), ttlMs / 6];
  const timing = {
    ttlMs,
    renewEveryMs: checkNumber('renewEveryMs', options.renewEveryMs, renewEveryMs, { min: 10, max: ttlMs }),
    retryEveryMs: checkNumber('retryEveryMs', options.retryEveryMs, ttlMs / 20, { min: 5, max: ttlMs }),
    callTimeoutMs: checkNumber('callTimeoutMs', options.callTimeoutMs, Math.min(callMs, 5_000), { min: 10, max: ttlMs }),
    drainMs: checkNumber('drainMs', options.drainMs, ttlMs / 10, { min: 0, max: ttlMs / 2, why: 'at most half of ttlMs' }),
    clockErrorRatio: checkNumber('clockErrorRatio', options.clockErrorRatio, 0.01, { min: 0, max: 0.1 }),
    successorClaimTimeoutMs: checkNumber('successorClaimTimeoutMs', options.successorClaimTimeoutMs, ttlMs / 2, { min: 0, max: ttlMs }),
  };
  checkTwoTries(timing, storeName, capabilities);
  return timing;
}

/**
 * The longest `drainMs` that the other timing leaves room for, in ms: the defaults, where it is not
 * given. Below 0 where there is none.
 */
export function longestDrainMs(options: TimingOptions, store: Pick<Store, 'name' | 'capabilities'>): number {
  const timing = resolveTiming({ ...options, drainMs: 0 }, store.name, store.capabilities);
  return Math.min(timing.ttlMs / 2, validMs(timing.ttlMs, timing) - twoTriesMs(timing, store.capabilities));
}

/**
 * How old a lease is when a renewal that timed out at a silent server has been tried again, and
 * another server has answered.
 */
function twoTriesMs({ ttlMs, renewEveryMs, retryEveryMs, callTimeoutMs }: Timing, capabilities: StoreCapabilities): number {
  const { reconnectsWithinMs = 0 } = capabilities;
  return oldestMs(renewEveryMs, ttlMs, capabilities) + callTimeoutMs + retryEveryMs * (1 + RETRY_SPREAD) + reconnectsWithinMs;
}

/**
 * One failed renewal must leave time for another before the deadline, or every lost packet would
 * end a leadership.
 */
function checkTwoTries(timing: Timing, storeName: string, capabilities: StoreCapabilities): void {
  const { ttlMs, renewEveryMs, drainMs } = timing;
  const longestMs = validMs(ttlMs, timing);
  const oldest = oldestMs(renewEveryMs, ttlMs, capabilities);
  const twoTries = twoTriesMs(timing, capabilities);
  if (twoTries <= longestMs) return;
  const margin = Math.round(ttlMs - longestMs - drainMs);
  const times = Math.round(oldest / renewEveryMs);
  const { reconnectsWithinMs = 0 } = capabilities;
  const leaving = reconnectsWithinMs === 0 ? '' : ` + the ${reconnectsWithinMs} ms that ${storeName} needs to leave a silent server`;
  throw invalidOption(
    `${times === 1 ? '' : `${times} × `}renewEveryMs + callTimeoutMs + ${1 + RETRY_SPREAD} × retryEveryMs${leaving}`,
    Math.round(twoTries),
    `at most ttlMs − margin − drainMs = ${Math.round(ttlMs)} − ${margin} − ${Math.round(drainMs)} = ${Math.round(longestMs)}, ` +
      'so that a renewal that fails once can be tried again before the deadline',
  );
}
