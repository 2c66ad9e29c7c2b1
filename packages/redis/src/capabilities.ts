/** What Redis can and cannot promise, and the limits of this store. */

import type { Store, StoreCapabilities } from '@incumbent/core';

const MIN_TTL_MS = 100;
/** 24 days: the longest timer of Node. */
export const MAX_TTL_MS: number = 2 ** 31 - 1;

/**
 * A read finds a key absent as soon as its lease ends. A watch asks for a lease up to 21 ms after
 * its end.
 */
const EXPIRY_SLACK_MS = 50;

/**
 * A call that times out on a silent connection makes the next call begin with another server: it
 * connects, sends the greeting and checks the server, which takes a few round trips. If that server
 * does not answer either, the call waits for the time limit of a connection first.
 */
const RECONNECTS_WITHIN_MS = 10;

/** Far more than an election needs. */
const MAX_CHANGES = 128;

/**
 * A server accepts longer values, but it runs one script at a time, so every script must be short.
 */
const MAX_VALUE_BYTES: number = 2 ** 20;

/**
 * One script removes all keys of a lease, at 20 µs each, while other requests wait. 1,000 elections
 * of one member have 2,001 keys.
 */
const MAX_KEYS_PER_LEASE = 2_500;

export const CAPABILITIES: StoreCapabilities = {
  linearizable: false,
  weakness: 'its servers may lose what they acknowledged in a failover or a restart',
  termSource: 'clock',
  minTtlMs: MIN_TTL_MS,
  maxTtlMs: MAX_TTL_MS,
  expiresWithinMs: (ttlMs) => grantedTtlMs(ttlMs) + EXPIRY_SLACK_MS,
  reconnectsWithinMs: RECONNECTS_WITHIN_MS,
  assignableLease: true,
  watchTellsValues: true,
  // Revisions are stamps, which never repeat.
  revisionsSurviveDeletion: true,
  endsEarly: 'a server counts leases by its wall clock, and after a restart or a failover may have lost what it had acknowledged',
  maxChanges: MAX_CHANGES,
  maxValueBytes: MAX_VALUE_BYTES,
  maxKeysPerLease: MAX_KEYS_PER_LEASE,
};

/** What the checks of sizes need. */
export const LIMITS: Pick<Store, 'name' | 'capabilities'> = { name: 'redis', capabilities: CAPABILITIES };

/** Redis counts whole milliseconds. */
export function grantedTtlMs(ttlMs: number): number {
  return Math.ceil(Math.max(ttlMs, MIN_TTL_MS));
}
