/** The checks of `incumbent doctor`, in their order. */

import type { Store } from '@incumbent/core';

import { checkCapabilities, ttlRangeOf } from './capabilities.ts';
import { failure, type Finding } from './finding.ts';
import { checkPermissions } from './permissions.ts';
import { newScratch, removeScratch } from './probe-target.ts';
import { checkReads, checkWrites } from './round-trips.ts';
import { checkServer } from './server.ts';

const DEFAULT_TTL_MS = 15_000;

export interface ChecksOptions {
  /** The ttl that elections will have. Default: 15 s, or the nearest that the store allows. */
  readonly ttlMs?: number;
  /** Whether to make the calls that write, below a scratch key that is removed afterwards. */
  readonly writes: boolean;
  /** Called with the findings of each check, as soon as it has ended. */
  readonly report: (findings: readonly Finding[]) => void;
  /**
   * Aborts when the checks must stop. They report nothing then, but that a key could not be
   * removed.
   */
  readonly stopping?: AbortSignal;
}

/** The ttl of the checks if the user names none. */
export function defaultTtlMs(store: Store): number {
  const { minTtlMs, maxTtlMs } = ttlRangeOf(store);
  return Math.min(Math.max(DEFAULT_TTL_MS, minTtlMs), maxTtlMs);
}

/**
 * Resolves with false if a call that elections need has failed: later checks would fail as well.
 * Resolves with false, too, if `stopping` has aborted. Never rejects.
 */
export async function runChecks(store: Store, { ttlMs = defaultTtlMs(store), writes, report, stopping }: ChecksOptions): Promise<boolean> {
  const target = { store, ttlMs, scratch: newScratch(), stopping };
  const isStopping = (): boolean => stopping?.aborted === true;
  report(await findingsOf('the server', () => checkServer(store)));
  report(checkCapabilities(store, ttlMs));
  if (!writes) {
    report(await findingsOf('round trips', () => checkReads(target)));
    return true;
  }
  const permissions = await checkPermissions(target);
  report(permissions);
  if (permissions.some(({ level }) => level === 'failure')) return false;
  if (isStopping()) return false;
  const measured = await findingsOf('round trips', async () => [...(await checkReads(target)), ...(await checkWrites(target))]);
  const leftover = await removeScratch(target);
  if (!isStopping()) report(measured);
  if (leftover !== undefined) report([leftover]);
  return !isStopping();
}

/** The findings of a check; if the check throws, its error as a failure. */
export async function findingsOf(what: string, check: () => Promise<readonly Finding[]>): Promise<readonly Finding[]> {
  try {
    return await check();
  } catch (error) {
    return [failure(what, error)];
  }
}
