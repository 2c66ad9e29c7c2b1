import { describe, expect, it } from 'vitest';

import { fields, optionalFields, type Fields } from '../../src/objects/json.ts';
import type { FakeRequest } from '../fake/api-server.ts';
import { NAME, PublishWorld } from './world.ts';

const isWrite = ({ method }: FakeRequest): boolean => method !== 'GET';
const isCreation = ({ method }: FakeRequest): boolean => method === 'POST';

function specOf(world: PublishWorld): Fields {
  return optionalFields(world.object(world.leases, NAME)?.['spec']);
}

describe('the published Lease', () => {
  it('shows the leader in the fields that client-go uses', async () => {
    const world = new PublishWorld();
    const a = world.join('a');
    expect(world.shown).toBeUndefined();
    await world.elect(a);
    await world.cluster.advance(100);
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    expect(specOf(world)).toEqual({
      holderIdentity: 'a',
      leaseDurationSeconds: 15,
      acquireTime: time,
      renewTime: time,
      leaseTransitions: 1,
    });
    await world.close(a);
  });

  it('is renewed three times in its duration, and keeps the time of the election', async () => {
    const world = new PublishWorld();
    const a = world.join('a', { leaseDurationMs: 29_500 });
    await world.elect(a);
    await world.cluster.advance(100);
    const first = specOf(world);
    await world.cluster.advance(90_000);
    const last = specOf(world);
    expect(world.api.requests.filter(({ method }) => method === 'PUT')).toHaveLength(9);
    expect([last['acquireTime'], last['leaseDurationSeconds']]).toEqual([first['acquireTime'], 30]);
    expect(String(last['renewTime']) > String(first['renewTime'])).toBe(true);
    await world.close(a);
  });

  it('is cleared when the leader resigns, and shows the next leader after that', async () => {
    const world = new PublishWorld();
    const [a, b] = [world.join('a'), world.join('b')];
    const leadership = await world.elect(a);
    await world.cluster.advance(100);
    await world.cluster.run(leadership.resign());
    await world.cluster.advance(100);
    expect(world.shown).toEqual({ holder: '', transitions: 1, term: '1' });
    expect(specOf(world)).toMatchObject({ leaseDurationSeconds: 1 });
    await world.elect(b);
    await world.cluster.advance(100);
    expect(world.leaseHistory).toEqual(['1 a', '1 ', '2 b']);
    await world.close(a, b);
  });

  it('is cleared by a leader that loses its leadership, although nobody else leads', async () => {
    const world = new PublishWorld();
    const a = world.join('a');
    const leadership = await world.elect(a);
    await world.cluster.advance(100);
    world.cluster.cutOff('a');
    await world.until(() => !leadership.isValid(), 'the end of the leadership');
    await world.cluster.advance(100);
    expect(world.shown).toMatchObject({ holder: '' });
    world.cluster.heal('a');
    await world.close(a);
  });

  it('shows the next leader after a crash', async () => {
    const world = new PublishWorld();
    const [a, b] = [world.join('a'), world.join('b')];
    await world.elect(a);
    await world.cluster.advance(100);
    world.crash('a');
    await world.elect(b);
    await world.cluster.advance(100);
    expect(world.leaseHistory).toEqual(['1 a', '2 b']);
    await world.close(b);
  });

  it('shows the present leader if the publisher begins after the election', async () => {
    const world = new PublishWorld();
    const a = world.join('a');
    await world.cluster.run(a.publisher.close());
    await world.elect(a);
    await world.cluster.advance(100);
    expect(world.shown).toBeUndefined();
    const publisher = world.publish('a', a.election, {});
    await world.cluster.advance(100);
    expect(world.shown).toMatchObject({ holder: 'a' });
    await world.close({ ...a, publisher });
  });

  it('shows the leader once if the publisher begins in a callback of the election', async () => {
    const world = new PublishWorld();
    const a = world.join('a');
    await world.cluster.run(a.publisher.close());
    let publisher = a.publisher;
    const remove = a.election.onElected(() => {
      publisher = world.publish('a', a.election, {});
      remove();
    });
    await world.elect(a);
    await world.cluster.advance(100);
    expect(world.shown).toMatchObject({ holder: 'a' });
    expect(world.api.requests.filter(({ method }) => method !== 'GET')).toHaveLength(1);
    await world.close({ ...a, publisher });
  });

  it('is cleared when the publisher closes, and shows no later term of it', async () => {
    const world = new PublishWorld();
    const a = world.join('a');
    const leadership = await world.elect(a);
    await world.cluster.advance(100);
    await world.cluster.run(a.publisher.close());
    expect([world.shown?.holder, leadership.isValid()]).toEqual(['', true]);
    await world.cluster.run(leadership.resign());
    await world.elect(a);
    await world.cluster.advance(20_000);
    expect(world.leaseHistory).toEqual(['1 a', '1 ']);
    await world.close(a);
  });

  it('has the highest int32 for higher terms, and their exact number in an annotation', async () => {
    const world = new PublishWorld();
    const a = world.join('a', {}, { minTerm: 2n ** 40n });
    await world.elect(a);
    await world.cluster.advance(100);
    expect(world.shown).toEqual({ holder: 'a', transitions: 2_147_483_647, term: '1099511627776' });
    await world.close(a);
  });
});

describe('a former leader never overwrites a newer term', () => {
  it('when it was paused over an election and goes on', async () => {
    const world = new PublishWorld();
    const [a, b] = [world.join('a'), world.join('b')];
    await world.elect(a);
    await world.cluster.advance(100);
    world.cluster.pause('a');
    await world.elect(b);
    await world.cluster.advance(100);
    world.cluster.resume('a');
    await world.cluster.advance(60_000);
    expect(world.leaseHistory).toEqual(['1 a', '2 b']);
    await world.close(a, b);
  });

  it.each([
    ['a creation', isCreation, 0],
    ['a renewal', isWrite, 100],
  ] as const)('when %s of its arrives late', async (_, matches, fromMs) => {
    const world = new PublishWorld();
    const [a, b] = [world.join('a'), world.join('b')];
    const before = fromMs === 0 ? world.hold(matches) : [];
    await world.elect(a);
    await world.cluster.advance(fromMs);
    const held = fromMs === 0 ? before : world.hold(matches);
    await world.until(() => held.length > 0, 'the request');
    world.crash('a');
    world.heal();
    await world.elect(b);
    await world.cluster.advance(100);
    for (const request of held) world.api.apply(request);
    await world.cluster.advance(20_000);
    expect(world.leaseHistory.at(-1)).toBe('2 b');
    expect(world.leaseHistory.filter((state) => state === '1 a')).toHaveLength(fromMs === 0 ? 0 : 1);
    await world.close(b);
  });

  it.each([
    ['a creation', isCreation, 0],
    ['a renewal', isWrite, 100],
  ] as const)('nor its own end, when %s of its arrives late', async (_, matches, fromMs) => {
    const world = new PublishWorld();
    const a = world.join('a');
    const before = fromMs === 0 ? world.hold(matches) : [];
    const leadership = await world.elect(a);
    await world.cluster.advance(fromMs);
    const held = fromMs === 0 ? before : world.hold(matches);
    await world.until(() => held.length > 0, 'the request');
    world.heal();
    await world.cluster.run(leadership.resign());
    await world.cluster.advance(100);
    expect(world.shown).toMatchObject({ holder: '', term: '1' });
    for (const request of held) world.api.apply(request);
    await world.cluster.advance(20_000);
    expect(world.shown).toMatchObject({ holder: '', term: '1' });
    await world.close(a);
  });

  it('when its end finds the newer term', async () => {
    const world = new PublishWorld();
    const [a, b] = [world.join('a'), world.join('b')];
    const leadership = await world.elect(a);
    await world.cluster.advance(100);
    const held = world.hold(isWrite);
    await world.cluster.run(leadership.resign());
    await world.until(() => held.length > 0, 'the request');
    world.heal();
    await world.elect(b);
    await world.cluster.advance(60_000);
    for (const request of held) world.api.apply(request);
    expect(world.leaseHistory).toEqual(['1 a', '2 b']);
    await world.close(a, b);
  });

  it('also above the range of leaseTransitions', async () => {
    const world = new PublishWorld();
    const [a, b] = [world.join('a', {}, { minTerm: 2n ** 40n }), world.join('b')];
    await world.elect(a);
    await world.cluster.advance(100);
    const lease = world.object(world.leases, NAME);
    if (lease === undefined) throw new Error('no Lease');
    const metadata = fields(lease['metadata']);
    const annotations = { ...optionalFields(metadata['annotations']), 'incumbent/term': '1099511627777' };
    world.put(world.leases, { ...lease, metadata: { ...metadata, annotations }, spec: { holderIdentity: 'b' } });
    await world.until(() => a.errors.length > 0, 'an error');
    await world.cluster.advance(20_000);
    expect(world.shown).toMatchObject({ holder: 'b', term: '1099511627777' });
    expect(a.errors[0]).toMatchObject({ code: 'STALE_TERM', details: { term: 2n ** 40n, seen: 2n ** 40n + 1n } });
    expect(a.election.leadership?.isValid()).toBe(true);
    await world.close(a, b);
  });
});

describe('changes by others', () => {
  it('of the Lease are kept, and the leader goes on', async () => {
    const world = new PublishWorld();
    const a = world.join('a');
    await world.elect(a);
    await world.cluster.advance(100);
    const lease = world.object(world.leases, NAME);
    if (lease === undefined) throw new Error('no Lease');
    const metadata = fields(lease['metadata']);
    const annotations = { ...optionalFields(metadata['annotations']), team: 'storage' };
    world.put(world.leases, { ...lease, metadata: { ...metadata, annotations } });
    const { renewTime } = specOf(world);
    await world.until(() => specOf(world)['renewTime'] !== renewTime, 'a renewal');
    expect(optionalFields(fields(world.object(world.leases, NAME)?.['metadata'])['annotations'])).toMatchObject({ team: 'storage' });
    expect([world.shown?.holder, a.errors]).toEqual(['a', []]);
    await world.close(a);
  });

  it('that come before each try are reported, and tried again', async () => {
    const world = new PublishWorld();
    const a = world.join('a');
    await world.elect(a);
    await world.cluster.advance(100);
    const conflict = { status: 409, body: { kind: 'Status', reason: 'Conflict', message: 'modified' } };
    world.api.intervene = ({ method }) => (method === 'PUT' ? conflict : undefined);
    await world.until(() => a.errors.length > 0, 'an error');
    expect(a.errors[0]).toMatchObject({ code: 'CONFLICT', outcome: 'refused' });
    world.heal();
    const { renewTime } = specOf(world);
    await world.until(() => specOf(world)['renewTime'] !== renewTime, 'a renewal');
    await world.close(a);
  });

  it('that delete the Lease are undone by the next renewal', async () => {
    const world = new PublishWorld();
    const a = world.join('a');
    await world.elect(a);
    await world.cluster.advance(100);
    world.api.objects.delete(world.leases, `${world.leases}/${NAME}`, {});
    await world.until(() => world.shown?.holder === 'a', 'the Lease is there again');
    expect(a.errors).toEqual([]);
    await world.close(a);
  });

  it.each([
    ['another program', {}],
    ['another election', { annotations: { 'incumbent/election': 'incumbent/other', 'incumbent/term': '1' } }],
  ])('a Lease that %s holds is left alone until it is free', async (_, metadata) => {
    const world = new PublishWorld();
    const a = world.join('a');
    const spec = { holderIdentity: 'x', leaseTransitions: 0 };
    const { body: lease } = world.api.objects.create(world.leases, { kind: 'Lease', metadata: { name: NAME, ...metadata }, spec });
    await world.elect(a);
    await world.cluster.advance(20_000);
    expect(world.object(world.leases, NAME)).toEqual(lease);
    expect(a.errors[0]).toMatchObject({ code: 'FOREIGN_DATA', message: expect.stringContaining('"x"') });
    world.put(world.leases, { ...lease, spec: { ...spec, holderIdentity: '' } });
    await world.until(() => world.shown?.holder === 'a', 'the Lease shows the leader');
    await world.close(a);
  });
});
