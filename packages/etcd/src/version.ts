/** What a version of etcd means for elections. */

import { StoreError } from '@incumbent/core';

/** Before it, a watch that is refused does not say why. */
const OLDEST = [3, 4] as const;

/** From these patches on, a member that was the cluster's leader, stood still and wakes up no longer revokes leases that the new one renewed. */
const FIXED_PATCH: ReadonlyMap<number, number> = new Map([
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

/** Why this version may end a lease that is being renewed; undefined where it does not. */
export function endsEarly(version: string): string | undefined {
  const [major, minor, patch] = partsOf(version) ?? [];
  if (major !== 3 || minor === undefined || patch === undefined) return undefined;
  const fixed = FIXED_PATCH.get(minor);
  if (fixed === undefined || patch >= fixed) return undefined;
  return (
    `etcd ${version}: a member that led the cluster, stood still for a while and goes on may revoke leases that were renewed meanwhile ` +
    `(etcd issue 15247; fixed in 3.${minor}.${fixed})`
  );
}

function partsOf(version: string): readonly number[] | undefined {
  const parts = /^(\d+)\.(\d+)\.(\d+)/.exec(version)?.slice(1);
  return parts?.map(Number);
}
