/** What a version of etcd means for elections. */

import { StoreError } from '@incumbent/core/adapter';

/** Before it, a watch that is refused does not say why. */
const OLDEST = [3, 4] as const;

/**
 * From these patches on, a member that was the cluster's leader and stood still looks whether it still is before it revokes leases; but only if its own clock has not ticked since.
 * One that stood still as a whole goes on with a tick: of 3.5.16, stopped for 5.5 s with leases of 3 s that a follower renewed, 3 of 8 revoked nearly all of them.
 */
const LOOKS_SINCE: ReadonlyMap<number, number> = new Map([
  [4, 31],
  [5, 13],
]);

/** Throws `UNSUPPORTED` for what is no version of etcd that can serve. */
export function checkVersion(version: string): void {
  const [major, minor] = partsOf(version) ?? [];
  if (major === undefined || minor === undefined) {
    throw new StoreError('UNSUPPORTED', 'refused', `what answers is no etcd: it gives its version as "${version}"`);
  }
  if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])) {
    throw new StoreError('UNSUPPORTED', 'refused', `etcd ${version} is too old: ${OLDEST.join('.')} is the oldest that is supported`);
  }
}

/** Why this version may end a lease that is being renewed: there is none that is known not to. */
export function endsEarly(version: string): string {
  const [major, minor, patch] = partsOf(version) ?? [];
  const since = major === 3 ? LOOKS_SINCE.get(minor ?? 0) : undefined;
  const looks = since === undefined || (patch ?? 0) >= since;
  const how = looks ? 'stood still as a whole (a stopped process, a suspended machine)' : 'stood still for a while';
  const rarer = looks ? 'seen on 3.5.16' : `rarer from 3.${minor}.${since} on`;
  return `etcd ${version}: a member that led the cluster, ${how} and goes on may revoke leases that were renewed meanwhile (etcd issue 15247; ${rarer})`;
}

function partsOf(version: string): readonly number[] | undefined {
  const parts = /^(\d+)\.(\d+)\.(\d+)/.exec(version)?.slice(1);
  return parts?.map(Number);
}
