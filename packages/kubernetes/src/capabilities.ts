/** What a Kubernetes API server can and cannot promise. */

import type { StoreCapabilities } from '@incumbent/core';

import { MAX_CHANGES, MAX_DATA_BYTES, MAX_KEYS_PER_LEASE, MAX_TTL_MS, MAX_VALUE_BYTES, MIN_TTL_MS } from './limits.ts';

/** How long an observer takes to read the lease once more, to delete it, and to delete its keys. */
const EXPIRY_SLACK_MS = 1_500;

/**
 * A request that times out closes its connection, and the idle ones that have carried no answer
 * since it was sent. The next request connects again.
 */
const RECONNECTS_WITHIN_MS = 100;

export const capabilities: StoreCapabilities = {
  // Reads without a resourceVersion are linearizable, and a change names the version that it
  // replaces.
  linearizable: true,
  // The swap that checks the revision of the term key writes the next number.
  termSource: 'counter',
  minTtlMs: MIN_TTL_MS,
  maxTtlMs: MAX_TTL_MS,
  // By an observer that has seen the last renewal. An observer that sees the lease for the first
  // time begins a new ttl, so a lease that nobody observed ends this long after that first look.
  expiresWithinMs: (ttlMs) => Math.ceil(ttlMs / 1_000) * 1_000 + EXPIRY_SLACK_MS,
  reconnectsWithinMs: RECONNECTS_WITHIN_MS,
  assignableLease: true,
  watchTellsValues: true,
  // Revisions are numbers of one counter, which only the deletion of the whole object resets; it
  // then gets another epoch.
  revisionsSurviveDeletion: true,
  revisionInSwap: (other) => other,
  maxChanges: MAX_CHANGES,
  maxValueBytes: MAX_VALUE_BYTES,
  maxTotalBytes: MAX_DATA_BYTES,
  maxKeysPerLease: MAX_KEYS_PER_LEASE,
};
