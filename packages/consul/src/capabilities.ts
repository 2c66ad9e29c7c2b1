/** What Consul can and cannot promise. */

import type { StoreCapabilities } from '@incumbent/core';

import { MAX_TTL_MS } from './protocol/session.ts';
import { MIN_CHECK_TTL_MS } from './leases.ts';
import { MAX_CHANGES, MAX_VALUE_BYTES } from './transactions.ts';

/** The agent's word to the servers, and their agreement. */
const EXPIRY_SLACK_MS = 1_500;

/**
 * A request that times out ends its connection. The next one opens another to the agent, which is
 * near, and the agent asks a server.
 */
const RECONNECTS_WITHIN_MS = 100;

/** Servers delete the keys of a session one by one, in one step, when it ends. */
const MAX_KEYS_PER_LEASE = 10_000;

/** A leader tries for minutes to end a session that it has seen expire, also when it was deposed meanwhile and others have renewed that. */
const STILL_ENDING = "or when a server that led stands still for twice a session's ttl, and leads again within minutes";

const ENDS_EARLY = {
  check:
    'a session ends at once with its check or its node: when the agent is restarted and has not kept the check, or in the last second of its ttl, when the agent leaves, ' +
    `or when somebody removes either of them; ${STILL_ENDING}`,
  ttl: `a session ends at once when its agent's node is removed, as when the agent leaves; ${STILL_ENDING}`,
} as const;

export function capabilitiesOf(bound: 'check' | 'ttl', minSessionTtlMs: number): StoreCapabilities {
  const minTtlMs = bound === 'check' ? MIN_CHECK_TTL_MS : minSessionTtlMs;
  // Servers wait for twice the ttl, for the sake of clients whose renewals are late.
  const factor = bound === 'check' ? 1 : 2;
  return {
    linearizable: true,
    // The term key's value is counted up by the swap that compares its index.
    termSource: 'counter',
    minTtlMs,
    maxTtlMs: MAX_TTL_MS,
    expiresWithinMs: (ttlMs) => factor * Math.max(ttlMs, minTtlMs) + EXPIRY_SLACK_MS,
    reconnectsWithinMs: RECONNECTS_WITHIN_MS,
    assignableLease: true,
    watchTellsValues: true,
    // Every change of any key takes the next index of the whole store.
    revisionsSurviveDeletion: true,
    endsEarly: ENDS_EARLY[bound],
    maxChanges: MAX_CHANGES,
    maxValueBytes: MAX_VALUE_BYTES,
    maxKeysPerLease: MAX_KEYS_PER_LEASE,
  };
}
