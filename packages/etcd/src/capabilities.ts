/** The capabilities of etcd, some of which depend on its version. */

import type { StoreCapabilities } from '@incumbent/core';
import { StoreError } from '@incumbent/core/adapter';

/** The shortest ttl to ask for. Servers grant more: 1.5 times their election timeout of 1 s. */
const MIN_TTL_MS = 1_000;

/** etcd's own limit: 9,000,000,000 s. */
export const MAX_TTL_MS = 9_000_000_000_000;

/**
 * A server looks for expired leases every 500 ms. The cluster then agrees on deleting their keys.
 */
const EXPIRY_SLACK_MS = 1_500;

/** The shortest ttl that a server with the default options grants. */
const SHORTEST_GRANT_MS = 2_000;

/**
 * A call that times out leaves its member at once. The next call connects to another one, with TLS
 * if need be, and a renewal there waits for the answer of the cluster's leader.
 */
const RECONNECTS_WITHIN_MS = 100;

/** The server's default for `--max-txn-ops`. */
const MAX_CHANGES = 128;

/**
 * The server's default limit for a whole request is 1.5 MiB. Two such values fit into a request,
 * beside 128 KiB of other parts. A handover writes two values: the successor's record as the
 * leader, and the successor's entry.
 */
const MAX_VALUE_BYTES: number = (1_536 * 1_024 - 128 * 1_024) / 2;

/** etcd keeps the list of a lease's keys in memory, and deletes them in one transaction. */
const MAX_KEYS_PER_LEASE = 10_000;

/** The capabilities of a cluster whose member has this version. */
export function capabilitiesOf(version: string): StoreCapabilities {
  return {
    linearizable: true,
    // The swap that compares the term key's revision also counts its value up.
    termSource: 'counter',
    minTtlMs: MIN_TTL_MS,
    maxTtlMs: MAX_TTL_MS,
    expiresWithinMs: (ttlMs) => Math.max(Math.ceil(ttlMs / 1_000) * 1_000, SHORTEST_GRANT_MS) + EXPIRY_SLACK_MS,
    reconnectsWithinMs: RECONNECTS_WITHIN_MS,
    assignableLease: true,
    watchTellsValues: true,
    // Each change of any key takes the next revision of the whole store.
    revisionsSurviveDeletion: true,
    // The revision of a key is that of the transaction that wrote it.
    revisionInSwap: (other) => other,
    endsEarly: endsEarly(version),
    maxChanges: MAX_CHANGES,
    maxValueBytes: MAX_VALUE_BYTES,
    maxKeysPerLease: MAX_KEYS_PER_LEASE,
  };
}

/** Before 3.4, etcd does not say why it rejects a watch. */
const OLDEST = [3, 4] as const;

/**
 * The patch of each minor version from which on a member that led the cluster and was paused checks
 * whether it still leads before it revokes leases. It does so only if its own clock has not ticked
 * in between. A member that was stopped as a whole continues with a tick: of 8 such members of
 * 3.5.16, stopped for 5.5 s with leases of 3 s that a follower renewed, 3 revoked nearly all
 * leases.
 */
const CHECKS_SINCE: ReadonlyMap<number, number> = new Map([
  [4, 31],
  [5, 13],
]);

/**
 * Throws `UNSUPPORTED` for text that is not a version of etcd, and for a version that is too old.
 */
export function checkVersion(version: string): void {
  const [major, minor] = partsOf(version) ?? [];
  if (major === undefined || minor === undefined) {
    throw new StoreError('UNSUPPORTED', 'refused', `the server is not etcd: it reports the version "${version}"`);
  }
  if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])) {
    throw new StoreError('UNSUPPORTED', 'refused', `etcd ${version} is too old: ${OLDEST.join('.')} is the oldest that is supported`);
  }
}

/** Why this version may end a lease that is being renewed. Every known version may. */
export function endsEarly(version: string): string {
  const [major, minor, patch] = partsOf(version) ?? [];
  const since = major === 3 ? CHECKS_SINCE.get(minor ?? 0) : undefined;
  const checks = since === undefined || (patch ?? 0) >= since;
  const pause = checks ? 'a pause (stopped process, suspended machine)' : 'a pause of any kind';
  const rarer = checks ? 'seen on 3.5.16' : `upgrade the server: it is rarer from 3.${minor}.${since} on`;
  const risk = 'a member that led the cluster may revoke leases that were renewed during the pause';
  return `etcd ${version}: after ${pause}, ${risk} (etcd issue 15247; ${rarer})`;
}

function partsOf(version: string): readonly number[] | undefined {
  const parts = /^(\d+)\.(\d+)\.(\d+)/.exec(version)?.slice(1);
  return parts?.map(Number);
}
