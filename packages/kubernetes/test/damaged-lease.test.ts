/** On sockets, with a fake server in this process. No test waits for a time to pass. */

import type { Lease, Store } from '@incumbent/core';
import { momentOf, systemClock } from '@incumbent/core/adapter';
import { until } from '@incumbent/test-support';
import { describe, expect, it } from 'vitest';

import { openKubernetes } from '../src/index.ts';
import { fields, optionalFields, type Fields } from '../src/objects/json.ts';
import { FakeApiServer } from './fake/api-server.ts';

const KEYS = { apiVersion: 'test.example/v1', kind: 'ConfigMap', plural: 'configmaps' };
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/default/leases';
const VALUE = new Uint8Array(1);

function openOn(server: FakeApiServer): Promise<Store> {
  return openKubernetes({ server: server.url, token: server.tokens.admin, keysResource: KEYS });
}

function pathOf({ id }: Lease): string {
  return `${LEASES}/${id.split('/')[0]}`;
}

/** What an operator may do with `kubectl edit`. */
async function edit(server: FakeApiServer, lease: Lease, spec: Fields | undefined): Promise<void> {
  const { body } = await server.call('GET', pathOf(lease));
  const { spec: _, ...rest } = fields(body);
  const { status } = await server.call('PUT', pathOf(lease), spec === undefined ? rest : { ...rest, spec });
  expect(status).toBe(200);
}

async function specOf(server: FakeApiServer, lease: Lease): Promise<Fields> {
  return optionalFields(fields((await server.call('GET', pathOf(lease))).body)['spec']);
}

describe.each([
  ['without a duration', { holderIdentity: 'somebody' }],
  ['without a spec', undefined],
  ['with a duration that is text', { leaseDurationSeconds: '10' }],
  ['with a negative duration', { leaseDurationSeconds: -1 }],
] as const)('a Lease that was edited by hand, and is %s,', (_, spec) => {
  // Four are read one by one, and more are read by a list.
  it.each([1, 5])('does not keep the keys of %i other leases that have ended', async (others) => {
    await using server = await FakeApiServer.start();
    await using holder = await openOn(server);
    const grant = async (name: string): Promise<Lease> => {
      const lease = await holder.grantLease(60_000, { at: momentOf(systemClock) });
      await holder.enqueue('q', name, VALUE, lease.id);
      return lease;
    };
    const damaged = await grant('damaged');
    const ended = await Promise.all(Array.from({ length: others }, (__, index) => grant(`ended-${index}`)));
    await edit(server, damaged, spec);
    await Promise.all(ended.map((lease) => server.call('DELETE', pathOf(lease))));
    await using observer = await openOn(server);
    const namesNow = async (): Promise<readonly string[]> => (await observer.list('q')).map(({ name }) => name);
    await until(async () => (await namesNow()).length === 1, { what: 'the keys of the other leases are deleted' });
    expect(await namesNow()).toEqual(['damaged']);
  });

  it('is renewed and repaired by its holder', async () => {
    await using server = await FakeApiServer.start();
    await using store = await openOn(server);
    const lease = await store.grantLease(60_000, { at: momentOf(systemClock) });
    await edit(server, lease, spec);
    await store.renewLease(lease.id, { at: momentOf(systemClock) });
    expect(await specOf(server, lease)).toMatchObject({ leaseDurationSeconds: 60 });
  });
});
