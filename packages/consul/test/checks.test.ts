/**
 * Checks are removed from the agent with their leases, and those of dead processes when a store is
 * opened. Real time: responses of the agent that come some ms late show how many requests are under
 * way, and its sockets are real.
 */

import { systemClock } from '@incumbent/core';
import { ManualClock } from '@incumbent/memory';
import { connectSocket } from '@incumbent/network';
import { until } from '@incumbent/test-support';
import { describe, expect, it, vi } from 'vitest';

import { CheckCleaner } from '../src/check-cleaner.ts';
import { Client } from '../src/client/client.ts';
import { openConsul } from '../src/index.ts';
import {
  leaseCall,
  openOnFakeAgent,
  paths,
  servesLeases,
  SESSION,
  startFakeAgent,
  type FakeRequest,
  type FakeResponse,
} from './fake-agent.ts';

const TTL_MS = 2_000;
const CALL = { timeoutMs: 2_000 };

describe('checks', () => {
  it('that dead processes have left are removed at opening; other checks, and checks that pass, are not', async () => {
    await using agent = await startFakeAgent((request) => {
      if (request.path !== '/v1/agent/checks') return servesLeases(request);
      return { body: { 'incumbent:dead': { Status: 'critical' }, 'incumbent:live': { Status: 'passing' }, disk: { Status: 'critical' } } };
    });
    await using _store = await openConsul({ endpoint: agent.endpoint });
    const removed = agent.requests.filter(({ path }) => path.includes('/deregister/')).map(({ path }) => path.split('/').at(-1));
    expect(removed).toHaveLength(2);
    expect(removed).toContain('incumbent:dead');
  });

  it('that cannot be removed do not fail an opening', async () => {
    await using agent = await startFakeAgent((request) => {
      if (request.path.endsWith('dead')) return { status: 500, body: 'an error' };
      return request.path === '/v1/agent/checks' ? { body: { 'incumbent:dead': { Status: 'critical' } } } : servesLeases(request);
    });
    await using store = await openConsul({ endpoint: agent.endpoint });
    expect(store.capabilities.minTtlMs).toBe(1_000);
  });

  it('of other programs are not in the list that an opening reads, because they may be many and long', async () => {
    const dead = { 'incumbent:dead': { Status: 'critical' } };
    const long = Array.from({ length: 600 }, (_, i) => [`disk ${i}`, { Status: 'passing', Output: 'a,'.repeat(2_048) }]);
    await using agent = await startFakeAgent((request) => {
      if (request.path !== '/v1/agent/checks') return servesLeases(request);
      return { body: request.query.has('filter') ? dead : { ...Object.fromEntries(long), ...dead } };
    });
    await using store = await openConsul({ endpoint: agent.endpoint });
    expect(store.capabilities.minTtlMs).toBe(1_000);
    expect(paths(agent, '/deregister/').at(-1)).toBe('/v1/agent/check/deregister/incumbent:dead');
  });

  it.each([
    ['cannot be read', { body: 'no JSON' }],
    ['is refused', { status: 403, body: 'Permission denied' }],
    ['fails', 'reset'],
  ] as const)('are used although their list %s', async (_, reaction) => {
    await using agent = await startFakeAgent((request) => (request.path === '/v1/agent/checks' ? reaction : servesLeases(request)));
    await using store = await openConsul({ endpoint: agent.endpoint });
    expect(store.capabilities.minTtlMs).toBe(1_000);
  });

  it.each(['register', 'deregister'])('are removed by an opening that fails when it tries to %s one', async (verb) => {
    let failures = 0;
    await using agent = await startFakeAgent((request) => {
      if (!request.path.includes(`/check/${verb}`) || failures > 0) return servesLeases(request);
      failures += 1;
      return 'reset';
    });
    await expect(openConsul({ endpoint: agent.endpoint })).rejects.toMatchObject({ code: 'CONNECTION_LOST' });
    const removals = (): number => paths(agent, '/deregister/incumbent:').length;
    await until(() => removals() === (verb === 'register' ? 1 : 2) || undefined, { what: 'the check is removed' });
  });

  it('are not used if the agent does not allow them, unless the options require them', async () => {
    const forbids = (request: FakeRequest): FakeResponse | undefined =>
      request.path.startsWith('/v1/agent/') ? { status: 403, body: 'Permission denied' } : servesLeases(request);
    await using agent = await startFakeAgent(forbids);
    await using store = await openConsul({ endpoint: agent.endpoint });
    expect(store.capabilities.minTtlMs).toBe(10_000);
    await expect(openConsul({ endpoint: agent.endpoint, session: 'check' })).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
  });

  it('are not registered with an agent of another machine', async () => {
    await using agent = await startFakeAgent(servesLeases);
    const [host = '', port = ''] = agent.endpoint.split(':');
    await using store = await openConsul({
      endpoint: 'consul.internal',
      connect: (_, signal) => connectSocket({ host, port: Number(port) }, {}, signal),
    });
    expect(store.capabilities).toMatchObject({ minTtlMs: 10_000 });
    expect(agent.requests.filter(({ path }) => path.startsWith('/v1/agent/'))).toEqual([]);
  });
});

describe('checks that cannot be removed', () => {
  it('are tried one at a time, and once for each check that is added', async () => {
    let underWay = 0;
    let most = 0;
    // Does not move, so that no removal times out on a busy machine.
    const clock = new ManualClock();
    await using on = await openOnFakeAgent(servesLeases, { clock });
    on.agent.respond = async (request) => {
      if (request.path === '/v1/session/create') return { status: 500, body: 'No cluster leader' };
      if (!request.path.includes('/deregister/')) return servesLeases(request);
      most = Math.max(most, (underWay += 1));
      await new Promise((resolve) => void setTimeout(resolve, 2));
      underWay -= 1;
      return { status: 500, body: 'an error' };
    };
    const from = paths(on.agent, '/deregister/').length;
    for (let lost = 0; lost < 30; lost += 1)
      await expect(on.store.grantLease(TTL_MS, leaseCall(clock))).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(most).toBe(1);
    expect(paths(on.agent, '/deregister/').length - from).toBeLessThanOrEqual(30);
    on.agent.respond = servesLeases;
    await on.store.close();
    expect(new Set(paths(on.agent, '/deregister/').slice(from)).size).toBe(30);
  });

  it('are not tried if their registration was refused', async () => {
    await using on = await openOnFakeAgent(servesLeases);
    const from = paths(on.agent, '/deregister/').length;
    on.agent.respond = ({ path }) => (path.endsWith('/register') ? { status: 403, body: 'Permission denied' } : undefined);
    await expect(on.store.grantLease(TTL_MS, leaseCall())).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    await on.store.close();
    expect(paths(on.agent, '/deregister/').slice(from)).toEqual([]);
  });

  it('are tried if it is unknown whether they were registered', async () => {
    await using on = await openOnFakeAgent(servesLeases);
    on.agent.respond = (request) => (request.path.endsWith('/register') ? 'reset' : servesLeases(request));
    await expect(on.store.grantLease(TTL_MS, leaseCall())).rejects.toMatchObject({ outcome: 'unknown' });
    await until(() => paths(on.agent, '/deregister/').length === 2 || undefined, { what: 'it is removed' });
  });

  it('delay the close of a store by half a second', async () => {
    await using on = await openOnFakeAgent(servesLeases);
    for (let lease = 0; lease < 5; lease += 1) await on.store.grantLease(TTL_MS, leaseCall());
    on.agent.respond = (request) => (request.path.includes('/deregister/') ? undefined : servesLeases(request));
    await on.store.revokeLease(SESSION, CALL);
    const from = performance.now();
    await on.store.close();
    // The agent never responds.
    expect(performance.now() - from).toBeLessThan(20_000);
  });

  it('of dead processes are removed 50 at a time, so that the agent has connections left, whatever their names are', async () => {
    const orphans = Array.from({ length: 300 }, (_, i) => [`incumbent:a/../?b ${i}`, { Status: 'critical' }]);
    let underWay = 0;
    let most = 0;
    await using agent = await startFakeAgent(async (request) => {
      if (request.path === '/v1/agent/checks') return { body: Object.fromEntries(orphans) };
      if (!request.path.includes('/deregister/')) return servesLeases(request);
      most = Math.max(most, (underWay += 1));
      await new Promise((resolve) => void setTimeout(resolve, 5));
      underWay -= 1;
      return { body: {} };
    });
    await using _store = await openConsul({ endpoint: agent.endpoint });
    expect(most).toBeLessThanOrEqual(50);
    expect(paths(agent, '/deregister/')).toContain('/v1/agent/check/deregister/incumbent:a/../?b 7');
  });

  it('of dead processes delay an opening by half a second', async () => {
    await using agent = await startFakeAgent((request) => {
      if (request.path === '/v1/agent/checks') return { body: { 'incumbent:dead': { Status: 'critical' } } };
      return request.path.endsWith('dead') ? undefined : servesLeases(request);
    });
    const from = performance.now();
    await using _store = await openConsul({ endpoint: agent.endpoint });
    expect(performance.now() - from).toBeLessThan(20_000);
  });
});

/** More than the microtasks in which all code that awaits a promise continues. */
const MICROTASKS = 12;

async function microtasks(count: number): Promise<void> {
  for (let left = count; left > 0; left -= 1) await Promise.resolve();
}

it.each(Array.from({ length: MICROTASKS }, (_, index) => index))(
  'removes a check that is added %i microtasks after another was removed',
  async (after) => {
    const endpoint = { host: 'nowhere', port: 1 };
    const client = new Client({
      endpoint,
      connect: () => expect.unreachable(),
      connectTimeoutMs: 1,
      clock: systemClock,
      token: undefined,
      scope: {},
    });
    const first = Promise.withResolvers<void>();
    const removed: string[] = [];
    vi.spyOn(client, 'request').mockImplementation(async ({ path }) => {
      removed.push(path.slice(-1));
      await first.promise;
      return { status: 200, text: '', header: () => undefined };
    });
    const cleaner = new CheckCleaner(client, systemClock);
    cleaner.schedule('a');
    first.resolve();
    await microtasks(after);
    cleaner.schedule('b');
    await microtasks(MICROTASKS);
    expect(removed).toEqual(['a', 'b']);
    await cleaner.close();
  },
);
