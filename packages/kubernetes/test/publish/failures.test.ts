import { describe, expect, it } from 'vitest';

import { PublishWorld, TTL_MS } from './world.ts';

const forbidden = { status: 403, body: { kind: 'Status', reason: 'Forbidden', message: 'no' } };

describe('a failure of the API server', () => {
  it.each(['silent', 'reset'] as const)('has no effect on an election and its end (%s)', async (how) => {
    const times: number[] = [];
    for (const isDown of [false, true]) {
      const world = new PublishWorld();
      if (isDown) world.api.intervene = () => how;
      const a = world.join('a');
      const leadership = await world.elect(a);
      const electedMs = world.cluster.clock.monotonic();
      await world.cluster.advance(3 * TTL_MS);
      expect(leadership.isValid()).toBe(true);
      const fromMs = world.cluster.clock.monotonic();
      await world.cluster.run(leadership.resign());
      times.push(electedMs, world.cluster.clock.monotonic() - fromMs);
      expect(a.errors.length > 0).toBe(isDown);
      world.heal();
      await world.close(a);
    }
    expect(times.slice(2)).toEqual(times.slice(0, 2));
  });

  it('during an election delays what is published until the server is back', async () => {
    const world = new PublishWorld();
    world.api.intervene = () => 'reset';
    const a = world.join('a');
    await world.elect(a);
    await world.cluster.advance(60_000);
    expect(a.errors[0]).toMatchObject({ code: 'CONNECTION_LOST', message: expect.stringContaining('in the Lease controller') });
    world.heal();
    await world.until(() => world.shown?.holder === 'a', 'the Lease shows the leader');
    const reported = a.errors.length;
    await world.cluster.advance(60_000);
    expect(a.errors).toHaveLength(reported);
    await world.close(a);
  });

  it('at the end of a term delays the end that is published', async () => {
    const world = new PublishWorld();
    const a = world.join('a');
    const leadership = await world.elect(a);
    await world.cluster.advance(100);
    world.api.intervene = () => ({ status: 503, body: { kind: 'Status', reason: 'ServiceUnavailable', message: 'etcd' } });
    await world.cluster.run(leadership.resign());
    await world.cluster.advance(60_000);
    expect(world.shown).toMatchObject({ holder: 'a' });
    world.heal();
    await world.until(() => world.shown?.holder === '', 'the Lease is cleared');
    await world.close(a);
  });

  it('makes the close of a publisher take 2 s at most', async () => {
    const world = new PublishWorld();
    const a = world.join('a');
    await world.elect(a);
    await world.cluster.advance(100);
    world.api.intervene = () => 'silent';
    const fromMs = world.cluster.clock.monotonic();
    await world.cluster.run(a.publisher.close());
    expect(world.cluster.clock.monotonic() - fromMs).toBe(2_000);
    await world.close(a);
  });

  it('is tried again for ten minutes after the end of a term, and then no more', async () => {
    const world = new PublishWorld();
    const a = world.join('a');
    const leadership = await world.elect(a);
    await world.cluster.advance(100);
    world.api.intervene = () => 'reset';
    await world.cluster.run(leadership.resign());
    await world.cluster.advance(590_000);
    const tried = world.api.requests.length;
    await world.cluster.advance(20_000);
    const last = world.api.requests.length;
    await world.cluster.advance(60_000);
    expect([last > tried, world.api.requests.length]).toEqual([true, last]);
    await world.close(a);
  });

  it('is not reported for a request that the end of the term has ended', async () => {
    const world = new PublishWorld();
    const a = world.join('a');
    const held = world.hold(() => true);
    const leadership = await world.elect(a);
    await world.until(() => held.length > 0, 'the request');
    world.heal();
    await world.cluster.run(leadership.resign());
    await world.cluster.advance(60_000);
    expect(a.errors).toEqual([]);
    await world.close(a);
  });

  it('leads to no request after the end of a term that was never published', async () => {
    const world = new PublishWorld();
    world.api.intervene = () => forbidden;
    const a = world.join('a');
    const leadership = await world.elect(a);
    await world.cluster.advance(100);
    await world.cluster.run(leadership.resign());
    const tried = world.api.requests.length;
    await world.cluster.advance(60_000);
    expect(world.api.requests).toHaveLength(tried);
    await world.close(a);
  });

  it('names the rule that a Role lacks', async () => {
    const world = new PublishWorld();
    world.api.intervene = ({ method }) => (method === 'POST' ? forbidden : undefined);
    const a = world.join('a');
    await world.elect(a);
    await world.until(() => a.errors.length > 0, 'an error');
    expect(a.errors[0]).toMatchObject({
      code: 'PERMISSION_DENIED',
      details: { right: 'create leases', grant: expect.stringContaining('apiGroups: ["coordination.k8s.io"]') },
    });
    await world.close(a);
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('mine');
      },
    ],
    ['rejects', () => Promise.reject(new Error('mine'))],
  ])('reaches a callback whose own errors have no effect (%s)', async (_, onError) => {
    const world = new PublishWorld();
    world.api.intervene = () => 'reset';
    const a = world.join('a', { onError });
    await world.elect(a);
    await world.cluster.advance(10_000);
    world.heal();
    await world.until(() => world.shown?.holder === 'a', 'the Lease shows the leader');
    await world.close(a);
  });
});
