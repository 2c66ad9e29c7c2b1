/** What a SQLite store promises, and its limits. */

import type { StoreCapabilities } from '@incumbent/core';

import type { Host } from './host/host.ts';
import type { ProcessIdentity } from './host/process-identity.ts';

/** With a shorter ttl, one slow turn of the event loop would be a large part of the ttl. */
export const MIN_TTL_MS = 250;
export const MAX_TTL_MS = 86_400_000;
/** More changes would keep the file locked, and this event loop blocked, for too long. */
export const MAX_CHANGES = 1_000;
export const MAX_VALUE_BYTES = 1_048_576;
export const MAX_SWAP_BYTES: number = 16 * MAX_VALUE_BYTES;
/** All keys of a lease are deleted in one transaction. */
const MAX_KEYS_PER_LEASE = 10_000;
/** How late a waiting process on a busy machine may notice the end of a lease. */
const END_NOTICED_WITHIN_MS = 250;
/** How late it may notice the death of a process, including one that stays as a zombie. */
const DEATH_NOTICED_WITHIN_MS = 1_250;

/** `holder` is the process whose death ends a lease of this store. Undefined: only the ttl does. */
export function capabilitiesOn({ space }: Host, holder: ProcessIdentity | undefined): StoreCapabilities {
  return {
    // A transaction sees all commits before it, by any process.
    linearizable: true,
    termSource: 'counter',
    minTtlMs: MIN_TTL_MS,
    maxTtlMs: MAX_TTL_MS,
    expiresWithinMs: (ttlMs) => ttlMs + END_NOTICED_WITHIN_MS,
    ...(space === undefined || holder === undefined ? {} : { expiresOnExitWithinMs: DEATH_NOTICED_WITHIN_MS }),
    assignableLease: true,
    watchTellsValues: true,
    revisionsSurviveDeletion: true,
    maxChanges: MAX_CHANGES,
    maxValueBytes: MAX_VALUE_BYTES,
    maxKeysPerLease: MAX_KEYS_PER_LEASE,
  };
}
