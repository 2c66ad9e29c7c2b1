/** All leases of a store in one request. */

import type { LeaseId } from '@incumbent/core';
import type { AttemptOptions } from '@incumbent/network';

import type { Client } from './client/client.ts';
import { LABEL, leaseIdOf, leasesPath, type Names } from './names.ts';
import { fields } from './objects/json.ts';
import { readLease, type LeaseObject } from './objects/lease.ts';
import { identityOf, nameOf } from './objects/metadata.ts';

/** So many leases fit into an answer of the size that the client accepts. */
const MAX_LISTED = 1_000;

/**
 * Leases of the store, each with its state now. One that is missing may exist all the same: an
 * operator may have removed its label, or there may be too many.
 */
export async function listLeases(client: Client, names: Names, options: AttemptOptions): Promise<ReadonlyMap<LeaseId, LeaseObject>> {
  const query = { labelSelector: `${LABEL}=${names.prefix}`, limit: String(MAX_LISTED) };
  const { body } = await client.request({ method: 'GET', path: leasesPath(names), query }, options);
  const items = Array.isArray(body['items']) ? body['items'].map(fields) : [];
  return new Map(items.map((item) => [leaseIdOf({ name: nameOf(item), uid: identityOf(item).uid }), readLease(item)]));
}
