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

  it('withdraws the leader of an election on another store before its own store closes', async () => {
    await using server = await FakeApiServer.start();
    const store = await openKubernetes({ server: server.url, token: server.tokens.admin, keysResource: KEYS });
    await using member = new Member(new MemoryServer().connect(), { memberId: 'a' });
    const election = member.election('controller');
    const leadership = await election.campaign();
    const errors: IncumbentError[] = [];
    publishLeader(store, election, { lease: 'controller', onError: (error) => errors.push(error) });
    await until(async () => (await holderOn(server)) === 'a', { what: 'the leader is shown' });
    await store.close();
    expect([await holderOn(server), leadership.isValid(), errors]).toEqual(['', true, []]);
  });

  it('waits for no other requests of the store', async () => {
    await using server = await FakeApiServer.start();
    await using store = await openKubernetes({ server: server.url, token: server.tokens.admin, keysResource: KEYS });
    await using member = new Member(new MemoryServer().connect(), { memberId: 'a' });
    const election = member.election('controller');
    server.intervene = ({ path }) => (path === '/version' ? 'silent' : undefined);
    const aborting = new AbortController();
    const calls = Array.from({ length: 40 }, async () => store.inspect?.({ signal: aborting.signal, timeoutMs: 60_000 }));
    const settled = Promise.allSettled(calls);
    await election.campaign();
    await using _ = publishLeader(store, election, { lease: 'controller', onError: () => {} });
    await until(async () => (await holderOn(server)) === 'a', { what: 'the leader is shown' });
    aborting.abort();
    await settled;
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
    ['lease', { lease: 'a..b' }],
    ['lease', { lease: 'a-.b' }],
    ['leaseDurationMs', { leaseDurationMs: 2_999 }],
    ['events', { events: 'yes' }],
    ['onError', { onError: undefined }],
    ['podLabel.name', { podLabel: { name: 'a/b/c', value: 'x' } }],
    ['podLabel.name', { podLabel: { name: 'UPPER/name', value: 'x' } }],
    ['podLabel.name', { podLabel: { name: 'a..b/name', value: 'x' } }],
    ['podLabel.name', { podLabel: { name: '/name', value: 'x' } }],
    ['podLabel.name', { podLabel: { name: 'x'.repeat(64), value: 'x' } }],
    ['podLabel.value', { podLabel: { name: 'leads', value: '' } }],
    ['podLabel.pod', { podLabel: { name: 'leads', value: 'x', pod: 'A pod' } }],
    ['podLabel.pod', { podLabel: { name: 'leads', value: 'x', pod: 'a.-b' } }],
    ['podLabel options', { podLabel: 'leads' }],
    ['kind', { kind: 'Lease' }],
  ])('%s', async (option, wrong) => {
    await using server = await FakeApiServer.start();
    await using store = await openKubernetes({ server: server.url, token: server.tokens.admin, keysResource: KEYS });
    const options = { lease: 'controller', onError, ...wrong };
    expect(() => Reflect.apply(publishLeader, undefined, [store, election, options])).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION', details: expect.objectContaining({ option }) }),
    );
  });

  it('and the error names the value and what is allowed', async () => {
    await using server = await FakeApiServer.start();
    await using store = await openKubernetes({ server: server.url, token: server.tokens.admin, keysResource: KEYS });
    const messageOf = (wrong: object): string => {
      try {
        Reflect.apply(publishLeader, undefined, [store, election, { lease: 'controller', onError, ...wrong }]);
        return 'accepted';
      } catch (error) {
        return String(error);
      }
    };
    expect(messageOf({ lease: 'a..b' })).toMatch(/lease is "a\.\.b".*1 to 200.*a-z 0-9/);
    expect(messageOf({ leaseDurationMs: 1 })).toMatch(/leaseDurationMs is 1.*3,?000.*3,?600,?000/);
    expect(messageOf({ podLabel: { name: 'a/b/c', value: 'x' } })).toMatch(/podLabel\.name is "a\/b\/c".*1 to 63.*1 to 253/);
    expect(messageOf({ podLabel: { name: 'a', value: '-' } })).toMatch(/podLabel\.value is "-".*1 to 63/);
    expect(messageOf({ podLabel: { name: 'a', value: 'a', pod: 'A' } })).toMatch(/podLabel\.pod is "A".*1 to 253/);
  });

  it('a store that is closed', async () => {
    await using server = await FakeApiServer.start();
    const store = await openKubernetes({ server: server.url, token: server.tokens.admin, keysResource: KEYS });
    await store.close();
    expect(() => publishLeader(store, election, { lease: 'controller', onError })).toThrow(
      expect.objectContaining({ code: 'STORE_CLOSED' }),
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
