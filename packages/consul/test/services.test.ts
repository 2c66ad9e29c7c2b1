/**
 * Services are removed from the agent with their leases. Real time: responses of the agent that
 * come some ms late show how many requests are under way, and its sockets are real.
 */

import { systemClock } from '@incumbent/core';
import { ManualClock } from '@incumbent/memory';
import { connectSocket } from '@incumbent/network';
import { until } from '@incumbent/test-support';
import { describe, expect, it, vi } from 'vitest';

import { Client } from '../src/client/client.ts';
import { openConsul } from '../src/index.ts';
import { ServiceCleaner } from '../src/service-cleaner.ts';
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

describe('services', () => {
  it.each(['register', 'deregister'])('are removed by an opening that fails when it tries to %s one', async (verb) => {
    let failures = 0;
    await using agent = await startFakeAgent((request) => {
      if (!request.path.includes(`/service/${verb}`) || failures > 0) return servesLeases(request);
      failures += 1;
      return 'reset';
    });
    await expect(openConsul({ endpoint: agent.endpoint })).rejects.toMatchObject({ code: 'CONNECTION_LOST' });
    const removals = (): number => paths(agent, '/deregister/incumbent:').length;
    await until(() => removals() === (verb === 'register' ? 1 : 2) || undefined, { what: 'the service is removed' });
  });

  it('are removed by an opening whose first attempt to do so the agent refused', async () => {
    let refusals = 0;
    await using agent = await startFakeAgent((request) => {
      if (!request.path.includes('/service/deregister/') || refusals > 0) return servesLeases(request);
      refusals += 1;
      return { status: 429, body: 'Your IP is issuing too many concurrent connections' };
    });
    await expect(openConsul({ endpoint: agent.endpoint })).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await until(() => paths(agent, '/deregister/').length === 2 || undefined, { what: 'the service is removed' });
  });

  it('are not used if the agent does not allow them, unless the options require them', async () => {
    const forbids = (request: FakeRequest): FakeResponse | undefined =>
      request.path.startsWith('/v1/agent/') ? { status: 403, body: 'Permission denied' } : servesLeases(request);
    await using agent = await startFakeAgent(forbids);
    await using store = await openConsul({ endpoint: agent.endpoint });
    expect(store.capabilities.minTtlMs).toBe(10_000);
    await expect(openConsul({ endpoint: agent.endpoint, session: 'check' })).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
  });

  it('are not registered with an agent of another machine, nor if the options say so, which needs no warning', async () => {
    await using agent = await startFakeAgent((request) =>
      request.path === '/v1/agent/self' ? { body: { Config: { Version: '1.8.7' } } } : servesLeases(request),
    );
    const [host = '', port = ''] = agent.endpoint.split(':');
    await using store = await openConsul({
      endpoint: 'consul.internal',
      connect: (_, signal) => connectSocket({ host, port: Number(port) }, {}, signal),
    });
    await using chosen = await openConsul({ endpoint: agent.endpoint, session: 'ttl' });
    expect([store, chosen].map(({ capabilities }) => capabilities.minTtlMs)).toEqual([10_000, 10_000]);
    expect(agent.requests.filter(({ path }) => path.startsWith('/v1/agent/'))).toEqual([]);
    const reports = await Promise.all([store, chosen].map(async (one) => one.inspect?.(CALL)));
    const sessions = { what: 'sessions', detail: expect.stringContaining('within twice the ttl') };
    const report = { version: '1.8.7', facts: [sessions], warnings: [] };
    expect(reports).toEqual([report, report]);
  });
});

describe('services that cannot be removed', () => {
  it('because an agent with ACLs has removed them itself are not tried again', async () => {
    await using on = await openOnFakeAgent(servesLeases);
    on.agent.respond = (request) =>
      request.path.includes('/deregister/') ? { status: 500, body: 'Unknown service "x"' } : servesLeases(request);
    const from = paths(on.agent, '/deregister/').length;
    await on.store.grantLease(TTL_MS, leaseCall());
    await on.store.revokeLease(SESSION, CALL);
    await on.store.close();
    expect(paths(on.agent, '/deregister/').slice(from)).toHaveLength(1);
  });

  it('are tried one at a time, and once for each service that is added', async () => {
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
});

/** More than the microtasks in which all code that awaits a promise continues. */
const MICROTASKS = 12;

async function microtasks(count: number): Promise<void> {
  for (let left = count; left > 0; left -= 1) await Promise.resolve();
}

it.each(Array.from({ length: MICROTASKS }, (_, index) => index))(
  'removes a service that is added %i microtasks after another was removed',
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
    const cleaner = new ServiceCleaner(client, systemClock);
    cleaner.schedule('a');
    first.resolve();
    await microtasks(after);
    cleaner.schedule('b');
    await microtasks(MICROTASKS);
    expect(removed).toEqual(['a', 'b']);
    await cleaner.close();
  },
);
