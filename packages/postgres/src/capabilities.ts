/** What PostgreSQL can and cannot promise, and the limits of this store. */

import type { Store, StoreCapabilities } from '@incumbent/core';

/** Below this, a call that times out on a dead connection leaves no time for a second one. */
const MIN_TTL_MS = 500;
/** 24 days: the longest timer of Node. */
export const MAX_TTL_MS: number = 2 ** 31 - 1;

/** A watch asks for leases up to 21 ms after the first of them may have ended. */
const EXPIRY_SLACK_MS = 100;

/** A new connection: TCP, the start of a process on the server, the login, and a statement. */
const RECONNECTS_WITHIN_MS = 50;

/** Far more than an election needs. */
const MAX_CHANGES = 128;

/** PostgreSQL accepts longer values, but every call of a namespace waits for the ones before. */
const MAX_VALUE_BYTES: number = 2 ** 20;

/** One statement removes all keys of a lease, at about 50 µs each, while other calls wait. */
const MAX_KEYS_PER_LEASE = 2_500;

/** The longest key with its namespace, so that an index takes both. */
export const MAX_KEY_CHARACTERS = 1_000;

/** `weaknesses`: how the server may lose a commit that it has acknowledged. */
export function capabilitiesOf(weaknesses: readonly string[]): StoreCapabilities {
  const isDurable = weaknesses.length === 0;
  return {
    linearizable: isDurable,
    ...(isDurable ? {} : { weakness: weaknesses.join('; ') }),
    // Orders are times in microseconds, so terms rise also after the whole election was lost.
    termSource: isDurable ? 'counter' : 'clock',
    minTtlMs: MIN_TTL_MS,
    maxTtlMs: MAX_TTL_MS,
    expiresWithinMs: (ttlMs) => grantedTtlMs(ttlMs) + EXPIRY_SLACK_MS,
    reconnectsWithinMs: RECONNECTS_WITHIN_MS,
    assignableLease: true,
    watchTellsValues: false,
    // Revisions are counted for the whole namespace, and never repeat.
    revisionsSurviveDeletion: true,
    // The first change of a transaction counts, and the others get the same number.
    revisionInSwap: (other) => other,
    endsEarly: 'the server counts leases by its wall clock: if that clock is set forward, leases end early',
    maxChanges: MAX_CHANGES,
    maxValueBytes: MAX_VALUE_BYTES,
    maxKeysPerLease: MAX_KEYS_PER_LEASE,
  };
}

/** What the checks of sizes need. */
export const LIMITS: Pick<Store, 'name' | 'capabilities'> = { name: 'postgres', capabilities: capabilitiesOf([]) };

/** The server counts whole milliseconds. */
export function grantedTtlMs(ttlMs: number): number {
  return Math.ceil(Math.max(ttlMs, MIN_TTL_MS));
}
