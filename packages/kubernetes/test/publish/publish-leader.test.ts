/** On sockets, with a fake server in this process. No test waits for a time to pass. */

import { Member, type IncumbentError } from '@incumbent/core';
import { MemoryServer } from '@incumbent/memory';
import { until } from '@incumbent/test-support';
import { describe, expect, it } from 'vitest';

import { openKubernetes, publishLeader } from '../../src/index.ts';
import { fields, optionalFields, textFields } from '../../src/objects/json.ts';
import { FakeApiServer } from '../fake/api-server.ts';

const KEYS = { apiVersion: 'test.example/v1', kind: 'ConfigMap', plural: 'configmaps' };
const LEASE = '/apis/coordination.k8s.io/v1/namespaces/default/leases/controller';
const PODS = '/api/v1/namespaces/default/pods';
const podLabel = { name: 'example.com/leads', value: 'controller', pod: 'broker-0' };

async function holderOn(server: FakeApiServer): Promise<string | undefined> {
  const { status, body } = await server.call('GET', LEASE);
  return status === 200 ? textFields(fields(fields(body)['spec']))['holderIdentity'] : undefined;
}

async function labelOn(server: FakeApiServer): Promise<unknown> {
  const { body } = await server.call('GET', `${PODS}/${podLabel.pod}`);
  return optionalFields(fields(fields(body)['metadata'])['labels'])[podLabel.name];
}

describe('publishLeader', () => {
  it('shows the leader of an election on the same store, and withdraws it before the store closes', async () => {
    await using server = await FakeApiServer.start();
    await server.call('POST', PODS, { apiVersion: 'v1', kind: 'Pod', metadata: { name: podLabel.pod } });
    const errors: IncumbentError[] = [];
    const store = await openKubernetes({ server: server.url, token: server.tokens.admin, keysResource: KEYS });
    const member = new Member(store, { memberId: 'a' });
    const election = member.election('controller');
    publishLeader(store, election, { lease: 'controller', podLabel, events: true, onError: (error) => errors.push(error) });
    await election.campaign();
    await until(async () => (await holderOn(server)) === 'a' && (await labelOn(server)) === 'controller', { what: 'the leader is shown' });
    await member.close();
    expect(await labelOn(server)).toBeUndefined();
    await store.close();
    expect([await holderOn(server), errors]).toEqual(['', []]);
  });

  it('withdraws the leader when it is disposed of', async () => {
    await using server = await FakeApiServer.start();
    await using store = await openKubernetes({ server: server.url, token: server.tokens.admin, keysResource: KEYS });
    await using member = new Member(new MemoryServer().connect(), { memberId: 'a' });
    const election = member.election('controller');
    const leadership = await election.campaign();
    {
      await using _ = publishLeader(store, election, { lease: 'controller', onError: () => {} });
      await until(async () => (await holderOn(server)) === 'a', { what: 'the leader is shown' });
    }
    expect([await holderOn(server), leadership.isValid()]).toEqual(['', true]);
  });
});

const election = new Member(new MemoryServer().connect()).election('controller');
const onError = (): void => {};

describe('wrong options of publishLeader are refused:', () => {
  it.each([
    ['lease', { lease: 'Controller' }],
    ['lease', { lease: '-' }],
    ['lease', { lease: 'x'.repeat(201) }],
    ['leaseDurationMs', { leaseDurationMs: 2_999 }],
    ['events', { events: 'yes' }],
    ['onError', { onError: undefined }],
    ['podLabel.name', { podLabel: { name: 'a/b/c', value: 'x' } }],
    ['podLabel.name', { podLabel: { name: 'UPPER/name', value: 'x' } }],
    ['podLabel.name', { podLabel: { name: 'x'.repeat(64), value: 'x' } }],
    ['podLabel.value', { podLabel: { name: 'leads', value: '' } }],
    ['podLabel.pod', { podLabel: { name: 'leads', value: 'x', pod: 'A pod' } }],
    ['kind', { kind: 'Lease' }],
  ])('%s', async (option, wrong) => {
    await using server = await FakeApiServer.start();
    await using store = await openKubernetes({ server: server.url, token: server.tokens.admin, keysResource: KEYS });
    const options = { lease: 'controller', onError, ...wrong };
    expect(() => Reflect.apply(publishLeader, undefined, [store, election, options])).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION', details: expect.objectContaining({ option }) }),
    );
  });

  it('a store that is none of Kubernetes', () => {
    expect(() => publishLeader(new MemoryServer().connect(), election, { lease: 'controller', onError })).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION', details: expect.objectContaining({ option: 'store' }) }),
    );
  });

  it('something else than an election', async () => {
    await using server = await FakeApiServer.start();
    await using store = await openKubernetes({ server: server.url, token: server.tokens.admin, keysResource: KEYS });
    expect(() => Reflect.apply(publishLeader, undefined, [store, 'controller', { lease: 'controller', onError }])).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION', details: expect.objectContaining({ option: 'election' }) }),
    );
  });
});
