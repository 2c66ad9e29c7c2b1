import assert from 'node:assert/strict';
import { isPath } from '@incumbent/core/adapter';
import type { StoreCase } from '../case.ts';
import { casesOf } from '../define.ts';

const define = casesOf('capabilities');

/**
 * The most changes of a claim: the leader's record, the term, the last holder's entry, the
 * candidate's own entry, and the entries of 8 candidates that it passes over.
 */
const CHANGES_OF_A_CLAIM = 12;

export const capabilityCases: readonly StoreCase[] = [
  define('the store has a name', async ({ store }) => {
    assert.match(store.name, /^[a-z][a-z0-9-]*$/);
  }),

  define('its namespace, if it has one, is a path, and the same for two clients', async ({ store }, harness) => {
    const { namespace } = store;
    assert.ok(namespace === undefined || isPath(namespace), namespace);
    assert.equal((await harness.open()).namespace, namespace);
  }),

  define('the limits fit one another, and are enough for an election', async ({ store }) => {
    const { minTtlMs, maxTtlMs, maxChanges, maxValueBytes, maxKeysPerLease } = store.capabilities;
    const { renewalLag = 0, reconnectsWithinMs = 0 } = store.capabilities;
    assert.ok(minTtlMs > 0 && minTtlMs <= maxTtlMs);
    assert.ok(Number.isInteger(maxChanges) && maxChanges >= CHANGES_OF_A_CLAIM);
    assert.ok(Number.isInteger(maxValueBytes) && maxValueBytes >= 4_096);
    assert.ok(Number.isInteger(maxKeysPerLease) && maxKeysPerLease >= 3);
    assert.ok(renewalLag >= 0 && renewalLag <= 0.5);
    assert.ok(reconnectsWithinMs >= 0 && reconnectsWithinMs < Infinity);
  }),

  define('a store says how it may lose a write if, and only if, it is not linearizable', async ({ store }) => {
    const { linearizable, weakness } = store.capabilities;
    assert.equal(weakness === undefined, linearizable, weakness);
    // Errors continue the clause with a full stop.
    if (weakness !== undefined) assert.match(weakness, /\w$/);
  }),

  define('the revision of a key says that of another key of the same swap, and no later one, if the store says so', async (client) => {
    const { revisionInSwap } = client.store.capabilities;
    if (revisionInSwap === undefined) return;
    const { id: lease } = await client.longLease();
    const put = new Uint8Array([1]);
    const keys = [
      { key: 'shared/a', lease: null },
      { key: 'shared/b', lease },
      { key: 'shared/c', lease },
    ];
    const result = await client.swap(...keys.map((change) => ({ ...change, expect: null, put })));
    assert.ok(result.swapped);
    const revisions = async (): Promise<readonly (string | undefined)[]> =>
      Promise.all(keys.map(async ({ key }) => (await client.read(key))?.revision));
    assert.deepEqual(await revisions(), result.revisions);
    const said = (other = ''): readonly string[] => keys.map((key) => revisionInSwap(other, key.lease ?? undefined));
    for (const other of result.revisions) assert.deepEqual(said(other), result.revisions);
    // The same value again is a change, too.
    const [before = ''] = result.revisions;
    await client.swap({ key: 'shared/a', expect: before, put });
    const [after, ...others] = await revisions();
    assert.notEqual(after, before);
    assert.deepEqual(others, result.revisions.slice(1));
  }),

  define('a lease may last as long as its ttl, and longer for a longer one', async ({ store: { capabilities } }, { ttlMs }) => {
    const within = (ms: number): number => capabilities.expiresWithinMs(ms);
    for (const each of [capabilities.minTtlMs, ttlMs, 10 * ttlMs]) assert.ok(within(each) >= each && within(each) < Infinity);
    assert.ok(within(10 * ttlMs) > within(ttlMs));
  }),
];
