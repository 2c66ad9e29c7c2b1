/** On sockets, with a fake server in this process. No test waits for a time to pass. */

import { momentOf, systemClock } from '@incumbent/core/adapter';
import { expect, it } from 'vitest';

import { openKubernetes } from '../src/index.ts';
import { fields } from '../src/objects/json.ts';
import { FakeApiServer } from './fake/api-server.ts';

const KEYS = { apiVersion: 'test.example/v1', kind: 'ConfigMap', plural: 'configmaps' };
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/default/leases';

it('a renewal restores the ttl that somebody has changed by hand', async () => {
  await using server = await FakeApiServer.start();
  await using store = await openKubernetes({ server: server.url, token: server.tokens.admin, keysResource: KEYS });
  const { id } = await store.grantLease(5_000, { at: momentOf(systemClock) });
  const path = `${LEASES}/${id.split('/')[0]}`;
  const object = fields((await server.call('GET', path)).body);
  await server.call('PUT', path, { ...object, spec: { ...fields(object['spec']), leaseDurationSeconds: 3_600 } });
  await store.renewLease(id, { at: momentOf(systemClock) });
  const { spec } = fields((await server.call('GET', path)).body);
  expect(fields(spec)['leaseDurationSeconds']).toBe(5);
});
