/**
 * What the API server and the objects of the store look like, for people: the store's `inspect`.
 */

import type { Clock, LeaseId, StoreFact, StoreReport } from '@incumbent/core';
import type { AttemptOptions, CallTime } from '@incumbent/network';

import type { Client } from './client/client.ts';
import type { Right } from './client/failure.ts';
import { grantOf } from './errors.ts';
import { type KeyObject, sizeOf } from './keys/key-object.ts';
import type { Snapshot } from './keys/snapshot.ts';
import { LeaseObjects } from './lease-objects.ts';
import { MAX_DATA_BYTES } from './limits.ts';
import { keysName, readLeaseId, type Names } from './names.ts';
import { optionalFields } from './objects/json.ts';
import { holderOf, type LeaseObject } from './objects/lease.ts';
import { inspectPriority } from './priority.ts';

const REVIEWS = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
/** The part of {@link MAX_DATA_BYTES} beyond which there is a warning. */
const MOST_BYTES = 0.8;
/** A lease that was not renewed for so many ttls is not renewed any more. */
const OLD_TTLS = 3;
/** How many leases the warnings name. */
const MAX_NAMED = 5;

const KEYS_VERBS = ['get', 'watch', 'create', 'update'];
const LEASES_VERBS = ['get', 'list', 'watch', 'create', 'update', 'delete'];

/** What works worse without a right. Without any other right, elections do not work. */
const WITHOUT: Readonly<Record<string, string>> = {
  'list leases': 'each lease is read by itself',
  'watch leases': 'a dead member is replaced after up to twice its ttl',
};

export interface InspectionContext {
  readonly client: Client;
  readonly clock: Clock;
  readonly names: Names;
  readonly keys: KeyObject;
}

/** All rights that the store needs. */
export function neededRights({ keys, namespace }: Names): readonly Right[] {
  const ofKeys = { group: keys.apiVersion.split('/').at(-2) ?? '', resource: keys.plural, namespace };
  const ofLeases = { group: 'coordination.k8s.io', resource: 'leases', namespace };
  return [...KEYS_VERBS.map((verb) => ({ verb, ...ofKeys })), ...LEASES_VERBS.map((verb) => ({ verb, ...ofLeases }))];
}

export async function inspect({ client, clock, names, keys }: InspectionContext, time: CallTime): Promise<StoreReport> {
  const { body } = await client.request({ method: 'GET', path: '/version' }, time.left);
  const { gitVersion } = body;
  const snapshot = await keys.read(time.left);
  const [rights, leases, priority] = await Promise.all([
    inspectRights(client, names, time.left),
    new LeaseObjects(client, names).list(time.left),
    inspectPriority(client, names, time.left),
  ]);
  const size = inspectSize(snapshot, names);
  const old = inspectLeases(leases, snapshot, names, clock.wall());
  return {
    ...(typeof gitVersion === 'string' ? { version: gitVersion.replace(/^v/, '') } : {}),
    facts: [rights.fact, size.fact, old.fact, priority],
    warnings: [...rights.warnings, ...size.warnings, ...old.warnings],
  };
}

/** One line of the report, and what is wrong. */
interface Finding {
  readonly fact: StoreFact;
  readonly warnings: readonly string[];
}

async function inspectRights(client: Client, names: Names, options: AttemptOptions): Promise<Finding> {
  const needed = neededRights(names);
  const allowed = await Promise.all(needed.map((right) => isAllowed(client, names, right, options)));
  if (allowed.includes(undefined))
    return { fact: { what: 'rights', detail: 'not known: the API server has not answered a SelfSubjectAccessReview' }, warnings: [] };
  const missing = needed.filter((_, index) => allowed[index] === false);
  const said = missing.map(({ verb, resource }) => `${verb} ${resource}`);
  const detail = missing.length === 0 ? 'all that the store needs' : `missing: ${said.join(', ')}`;
  const warnings = missing.map((right, index) => {
    const effect = WITHOUT[said[index] ?? ''] ?? 'elections do not work';
    return `the user may not ${said[index]}: ${effect}; to grant it: ${grantOf(right)}`;
  });
  return { fact: { what: 'rights', detail }, warnings };
}

/** Undefined if the server does not tell. */
async function isAllowed(client: Client, names: Names, right: Right, options: AttemptOptions): Promise<boolean | undefined> {
  // A Role may allow the one object with the keys by its name. Nobody can allow a creation by name.
  const name = right.resource === names.keys.plural && right.verb !== 'create' ? { name: keysName(names) } : {};
  const spec = { resourceAttributes: { ...right, ...name } };
  const body = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', spec };
  try {
    const answer = await client.request({ method: 'POST', path: REVIEWS, body }, options);
    const { allowed } = optionalFields(answer.body['status']);
    return typeof allowed === 'boolean' ? allowed : undefined;
  } catch {
    // A server without reviews, or a user without the right to ask. The report has more to say.
    return undefined;
  }
}

function inspectSize(snapshot: Snapshot, names: Names): Finding {
  const bytes = sizeOf(snapshot.data);
  const part = ((bytes / MAX_DATA_BYTES) * 100).toFixed(1);
  const object = `${names.keys.kind} ${keysName(names)}`;
  const detail = `${snapshot.size} in the ${object}: ${bytes} of ${MAX_DATA_BYTES} bytes (${part} %)`;
  const warnings =
    bytes <= MAX_DATA_BYTES * MOST_BYTES
      ? []
      : [`the ${object} takes ${bytes} of ${MAX_DATA_BYTES} bytes: beyond them, swaps and joins fail with TOO_LARGE`];
  return { fact: { what: 'keys', detail }, warnings };
}

/**
 * Finds leases that nobody renews, by the times in them. A clock that is wrong makes the report
 * wrong, and nothing else: observers do not read these times.
 */
function inspectLeases(leases: ReadonlyMap<LeaseId, LeaseObject> | undefined, snapshot: Snapshot, names: Names, wallMs: number): Finding {
  if (leases === undefined) return { fact: { what: 'leases', detail: 'not known: the user may not list them' }, warnings: [] };
  const bound = snapshot.leases();
  const old = [...leases].flatMap(([id, { ttlMs, object }]) => {
    const { holder, renewedAtMs } = holderOf(object);
    const ageMs = renewedAtMs === undefined ? 0 : wallMs - renewedAtMs;
    return ageMs < ttlMs * OLD_TTLS ? [] : [{ name: readLeaseId(id)?.name ?? '', holder, ageMs, hasKeys: bound.has(id) }];
  });
  const detail = `${leases.size}; not renewed for ${OLD_TTLS} ttls, by this machine's clock: ${old.length}`;
  const warnings = old.slice(0, MAX_NAMED).map(({ name, holder, ageMs, hasKeys }) => {
    const what = `the lease ${name}${holder === '' ? '' : ` of ${holder}`} was last renewed ${(ageMs / 1_000).toFixed(0)} s ago`;
    return hasKeys
      ? `${what}, and nobody who runs depends on it: its keys stay until a member of their election or an observer starts`
      : `${what} and has no keys, so nobody ends it: kubectl delete lease -n ${names.namespace} ${name}`;
  });
  if (old.length > MAX_NAMED) warnings.push(`${old.length - MAX_NAMED} more leases are not renewed any more`);
  return { fact: { what: 'leases', detail }, warnings };
}
