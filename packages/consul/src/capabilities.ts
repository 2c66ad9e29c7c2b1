/** What Consul can and cannot promise. */

import type { StoreCapabilities } from '@incumbent/core';

import { MIN_CHECK_TTL_MS } from './leases.ts';
import { revisionInSwap } from './namespace.ts';
import { MAX_TTL_MS } from './protocol/session.ts';
import { MAX_CHANGES, MAX_VALUE_BYTES } from './transactions.ts';

/**
 * The time in which the agent reports a critical check, and the servers agree on the session's end.
 */
const EXPIRY_SLACK_MS = 1_500;

/**
 * A request that times out closes its connection. The next request connects to the agent, which is
 * near.
 */
const RECONNECTS_WITHIN_MS = 100;

/** The servers delete the keys of an ended session in one step, one key after the other. */
const MAX_KEYS_PER_LEASE = 10_000;

/**
 * A leader of the servers continues for minutes to end a session that it has seen expire, even if
 * it was deposed in between and other servers have renewed the session.
 */
const PAUSED_LEADER = "or when a server that led is paused for twice a session's ttl, and leads again within minutes";

const ENDS_EARLY = {
  check:
    'a session ends at once with its check or its node: when the agent is restarted and has lost the check or the check is in the last second of its ttl, ' +
    `when the agent leaves, or when somebody removes the service, its check or the node; ${PAUSED_LEADER}`,
  ttl: `a session ends at once when its agent's node is removed, as when the agent leaves; ${PAUSED_LEADER}`,
} as const;

export function capabilitiesOf(bound: 'check' | 'ttl', minSessionTtlMs: number): StoreCapabilities {
  const minTtlMs = bound === 'check' ? MIN_CHECK_TTL_MS : minSessionTtlMs;
  // Servers end a session after twice its ttl, in case a renewal is late.
  const factor = bound === 'check' ? 1 : 2;
  return {
    linearizable: true,
    // The swap that checks the index of the term key writes the next number.
    termSource: 'counter',
    minTtlMs,
    maxTtlMs: MAX_TTL_MS,
    expiresWithinMs: (ttlMs) => factor * Math.max(ttlMs, minTtlMs) + EXPIRY_SLACK_MS,
    reconnectsWithinMs: RECONNECTS_WITHIN_MS,
    assignableLease: true,
    watchTellsValues: true,
    // Every change of any key takes the next index of the whole store.
    revisionsSurviveDeletion: true,
    revisionInSwap,
    endsEarly: ENDS_EARLY[bound],
    maxChanges: MAX_CHANGES,
    maxValueBytes: MAX_VALUE_BYTES,
    maxKeysPerLease: MAX_KEYS_PER_LEASE,
  };
}
