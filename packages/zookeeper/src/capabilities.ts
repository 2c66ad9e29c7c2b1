/** What the store promises, and its limits. */

import type { StoreCapabilities } from '@incumbent/core';
import { GRACE_MS } from '@incumbent/network';

import { RENEWALS_APART } from './leases.ts';
import type { Namespace } from './namespace.ts';

export interface SessionLimits {
  readonly namespace: Namespace;
  /** The shortest and the longest session that the servers grant. */
  readonly minTtlMs: number;
  readonly maxTtlMs: number;
}

/**
 * The check that a key is absent takes two parts of a request. A server accepts any number of parts
 * within its limit of a million bytes.
 */
const MAX_CHANGES = 128;

/** Servers accept 1,048,575 bytes for a whole request. This leaves room for its other parts. */
const MAX_VALUE_BYTES = 900_000;

/**
 * How long it takes, after a silent server was given up, until a renewal is answered: another
 * server takes the session over, which the ensemble's leader confirms, and a quorum agrees to the
 * renewal's barrier.
 */
const ANSWER_MS = 100;

/**
 * When a session ends, servers list the paths of its nodes in one record, which may be a million
 * bytes long.
 */
const CLOSE_RECORD_BYTES = 900_000;

/**
 * The bytes of a path beside the namespace: those of an entry whose election and member id have the
 * longest names.
 */
const PATH_BYTES = 400;

export function capabilitiesOf({ namespace, minTtlMs, maxTtlMs }: SessionLimits): StoreCapabilities {
  // The shortest session has two ticks, unless the servers are configured otherwise.
  const tickMs = minTtlMs / 2;
  return {
    linearizable: true,
    // A claim replaces the value of the term key at the version that it has read.
    termSource: 'counter',
    minTtlMs,
    maxTtlMs,
    // The ensemble's leader looks for ended sessions once a tick. It learns every half tick of the
    // sessions of other servers.
    expiresWithinMs: (ttlMs) => Math.max(ttlMs, minTtlMs) + 2 * tickMs + 1_000,
    renewalLag: RENEWALS_APART,
    reconnectsWithinMs: GRACE_MS + ANSWER_MS,
    // An ephemeral node lives by the session that created it.
    assignableLease: false,
    watchTellsValues: false,
    // The version of a node that is created again starts at 0.
    revisionsSurviveDeletion: false,
    maxChanges: MAX_CHANGES,
    maxValueBytes: MAX_VALUE_BYTES,
    maxKeysPerLease: Math.floor(CLOSE_RECORD_BYTES / (namespace.root.length + PATH_BYTES)),
  };
}
