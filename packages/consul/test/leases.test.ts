import { StoreError, type Clock, type LeaseOptions, type TimedCall } from '@incumbent/core';
import { ManualClock } from '@incumbent/memory';
import { stall, until } from '@incumbent/test-support';
import { describe, expect, it } from 'vitest';

import { openConsul, type ConsulOptions } from '../src/index.ts';
import {
  leaseCall,
  openOnFakeAgent,
  servesLeases,
  SESSION,
  startFakeAgent,
  type FakeConsul,
  type FakeRequest,
  type FakeResponse,
} from './fake-agent.ts';

const TTL_MS = 2_000;

/** The options of a lease call that is made now. Its timeout is shorter than a ttl. */
function callNow(clock: Clock): TimedCall<LeaseOptions> {
  return leaseCall(clock, 1_000);
}

function bodyOf({ body }: FakeRequest): Readonly<Record<string, unknown>> {
  const parsed: Readonly<Record<string, unknown>> = JSON.parse(body || '{}');
  return parsed;
}

interface Scene extends FakeConsul {
  readonly clock: ManualClock;
  /** The paths of the requests since the store was opened, without the ids of services. */
  paths(): readonly string[];
}

async function scene(options: Partial<ConsulOptions> = {}): Promise<Scene> {
  const clock = new ManualClock();
  const opened = await openOnFakeAgent(servesLeases, { clock, ...options });
  const paths = (): readonly string[] => opened.requests().map(({ path }) => path.replace(/incumbent:.*/, '*').replace(SESSION, 'ID'));
  return { ...opened, clock, paths };
}

describe('a lease', () => {
  it('is a session bound to the check of a service, and not to the node’s health', async () => {
    await using on = await scene({ lockDelayMs: 1_500 });
    const lease = await on.store.grantLease(TTL_MS, callNow(on.clock));
    expect(lease).toMatchObject({ id: SESSION, ttlMs: TTL_MS });
    expect(on.paths()).toEqual(['/v1/agent/service/register', '/v1/agent/check/pass/*', '/v1/session/create']);
    const [service, , session] = on.agent.requests.slice(-3).map(bodyOf);
    const id = service?.['ID'];
    expect(service).toMatchObject({
      Name: 'incumbent',
      // Without its own ids, checks would be named after their services.
      Check: { CheckID: id, Name: 'incumbent app', TTL: '2000ms', Status: 'passing', DeregisterCriticalServiceAfter: '1m' },
    });
    expect(session).toEqual({
      Name: 'incumbent app',
      NodeChecks: [],
      ServiceChecks: [{ ID: id }],
      TTL: '10000ms',
      Behavior: 'delete',
      LockDelay: '1500ms',
    });
  });

  it('in a namespace of Consul Enterprise has its check there', async () => {
    await using on = await scene({ consulNamespace: 'ours' });
    await on.store.grantLease(TTL_MS, callNow(on.clock));
    expect(on.agent.requests.slice(-1).map(bodyOf)[0]).toMatchObject({ ServiceChecks: [{ Namespace: 'ours' }] });
  });

  it.each<[string, FakeResponse, object]>([
    ['UNSUPPORTED in another datacenter', { body: { Config: { Datacenter: 'dc1' } } }, { code: 'UNSUPPORTED', outcome: 'refused' }],
    ['UNAVAILABLE while the agent has just started', { body: { Config: { Datacenter: 'dc2' } } }, { code: 'UNAVAILABLE' }],
    ['UNAVAILABLE if the agent does not tell its own', { status: 403, body: 'Permission denied' }, { code: 'UNAVAILABLE' }],
  ])('is %s whose servers do not know the agent', async (_, self, expected) => {
    await using on = await scene({ datacenter: 'dc2' });
    on.agent.respond = (request) => {
      if (request.path === '/v1/agent/self') return self;
      return request.path === '/v1/session/create' ? { status: 500, body: 'Missing node registration' } : servesLeases(request);
    };
    await expect(on.store.grantLease(TTL_MS, callNow(on.clock))).rejects.toMatchObject(expected);
  });

  it('of 60 s has that ttl in both its check and its session', async () => {
    await using on = await scene();
    await on.store.grantLease(60_000, callNow(on.clock));
    const [service, , session] = on.agent.requests.slice(-3).map(bodyOf);
    expect(service).toMatchObject({ Check: { TTL: '60000ms' } });
    expect([session?.['TTL'], session?.['LockDelay']]).toEqual(['60000ms', '0ms']);
  });

  it('with a ttl alone is bound to no check, and has at least the shortest ttl that servers accept', async () => {
    await using on = await scene({ session: 'ttl' });
    expect(await on.store.grantLease(TTL_MS, callNow(on.clock))).toMatchObject({ ttlMs: 10_000 });
    expect(on.paths()).toEqual(['/v1/session/create']);
    expect(on.agent.requests.slice(-1).map(bodyOf)[0]).toMatchObject({ NodeChecks: [], ServiceChecks: [], TTL: '10000ms' });
  });

  it('is granted when the servers know its check', async () => {
    await using agent = await startFakeAgent(servesLeases);
    await using store = await openConsul({ endpoint: agent.endpoint });
    let tries = 0;
    agent.respond = (request) => {
      if (request.path !== '/v1/session/create' || (tries += 1) > 3) return servesLeases(request);
      return { status: 500, body: "Missing check 'x' registration" };
    };
    const at = { monotonicMs: 1, wallMs: 1 };
    expect(await store.grantLease(TTL_MS, { timeoutMs: 2_000, at })).toMatchObject({ id: SESSION, validFrom: at });
    expect(tries).toBe(4);
  });

  it('that could not be granted leaves no service', async () => {
    await using on = await scene();
    on.agent.respond = (request) =>
      request.path === '/v1/session/create' ? { status: 500, body: 'No cluster leader' } : servesLeases(request);
    await expect(on.store.grantLease(TTL_MS, callNow(on.clock))).rejects.toMatchObject({ code: 'UNAVAILABLE', outcome: 'unknown' });
    await on.store.close();
    expect(on.paths().slice(-2)).toEqual(['/v1/session/create', '/v1/agent/service/deregister/*']);
  });
});

describe('a renewal', () => {
  it('passes the check and renews the session, and counts from its own moment', async () => {
    await using on = await scene();
    await on.store.grantLease(TTL_MS, callNow(on.clock));
    await on.clock.advance(1_900);
    const call = callNow(on.clock);
    expect(await on.store.renewLease(SESSION, call)).toEqual({ ttlMs: TTL_MS, validFrom: call.at });
    expect(on.paths().slice(3).toSorted()).toEqual(['/v1/agent/check/pass/*', '/v1/session/renew/ID']);
  });

  it.each([
    ['the agent', '/v1/session/renew'],
    ['the servers', '/v1/agent/check/pass'],
  ])('that only %s acknowledged proves nothing', async (_, silent) => {
    await using on = await scene();
    await on.store.grantLease(TTL_MS, callNow(on.clock));
    on.agent.respond = (request) => (request.path.startsWith(silent) ? { status: 500, body: 'No cluster leader' } : servesLeases(request));
    await expect(on.store.renewLease(SESSION, callNow(on.clock))).rejects.toMatchObject({ code: 'UNAVAILABLE', outcome: 'unknown' });
  });

  it.each<[string, (request: FakeRequest) => boolean, FakeResponse]>([
    ['a server that does not know the session', ({ path }) => path.startsWith('/v1/session/renew'), { status: 404 }],
    [
      'an agent that has lost the check',
      ({ path }) => path.includes('/pass/'),
      { status: 500, body: 'CheckID "x" does not have associated TTL' },
    ],
    ['a later agent that has lost it', ({ path }) => path.includes('/pass/'), { status: 404, body: 'Unknown check ID "x"' }],
  ])('that %s refuses ends the session, so that it is certainly gone', async (_, is, said) => {
    await using on = await scene();
    await on.store.grantLease(TTL_MS, callNow(on.clock));
    on.agent.respond = (request) => (is(request) ? said : servesLeases(request));
    await expect(on.store.renewLease(SESSION, callNow(on.clock))).rejects.toMatchObject({ code: 'LEASE_EXPIRED', outcome: 'refused' });
    await on.store.close();
    expect(on.paths().slice(-3)).toEqual(['/v1/session/destroy/ID', '/v1/session/info/ID', '/v1/agent/service/deregister/*']);
  });

  it('has an unknown outcome while the session may live, and its end is requested again', async () => {
    await using on = await scene();
    await on.store.grantLease(TTL_MS, callNow(on.clock));
    on.agent.respond = (request) => {
      if (request.path.startsWith('/v1/session/renew')) return { status: 404 };
      return request.path.startsWith('/v1/session/destroy') ? { status: 500, body: 'No cluster leader' } : servesLeases(request);
    };
    await expect(on.store.renewLease(SESSION, callNow(on.clock))).rejects.toMatchObject({ code: 'UNAVAILABLE', outcome: 'unknown' });
    on.agent.respond = servesLeases;
    await expect(on.store.renewLease(SESSION, callNow(on.clock))).rejects.toMatchObject({ code: 'LEASE_EXPIRED', outcome: 'refused' });
  });

  it.each([
    ['a ttl', (clock: ManualClock) => clock.advance(TTL_MS)],
    ['a ttl by the wall, as after a suspension', async (clock: ManualClock) => clock.setWall(clock.wall() + TTL_MS)],
  ])('that comes later than %s after the one before proves nothing: the check may have been critical in between', async (_, pass) => {
    await using on = await scene();
    await on.store.grantLease(TTL_MS, callNow(on.clock));
    await pass(on.clock);
    await expect(on.store.renewLease(SESSION, callNow(on.clock))).rejects.toMatchObject({ code: 'LEASE_EXPIRED', outcome: 'refused' });
    expect(on.paths()).toContain('/v1/session/destroy/ID');
  });

  it('whose time is up between any two readings of the clock fails once, and causes no unhandled rejection', async () => {
    const outcomes: unknown[] = [];
    for (let reading = 1; reading <= 12; reading += 1) {
      const on = await scene();
      await on.store.grantLease(TTL_MS, callNow(on.clock));
      on.agent.respond = () => undefined;
      const call = callNow(on.clock);
      stall(on.clock, reading, call.timeoutMs);
      const renewal = on.store.renewLease(SESSION, call).catch((error: unknown) => outcomes.push(error));
      await on.clock.advance(call.timeoutMs);
      await renewal;
      // An unhandled rejection fails this run.
      await on[Symbol.asyncDispose]();
    }
    expect(outcomes.filter((outcome) => !(outcome instanceof StoreError))).toEqual([]);
    expect(outcomes).toHaveLength(12);
  });

  it('waits for no other call, however many are without a response', async () => {
    await using on = await scene();
    await on.store.grantLease(TTL_MS, callNow(on.clock));
    on.agent.respond = (request) => (request.path === '/v1/txn' ? undefined : servesLeases(request));
    const change = { expect: null, put: new Uint8Array() };
    const swaps = Array.from({ length: 64 }, (_, i) => on.store.compareAndSwap([{ ...change, key: `k${i}` }], { timeoutMs: 60_000 }));
    for (const swap of swaps) swap.catch(() => {});
    await until(() => on.paths().filter((path) => path === '/v1/txn').length === 64, { what: '64 requests under way' });
    await on.store.renewLease(SESSION, callNow(on.clock));
    expect(on.paths().slice(-2).toSorted()).toEqual(['/v1/agent/check/pass/*', '/v1/session/renew/ID']);
  });

  it('of a lease that this store was not granted is refused', async () => {
    await using on = await scene();
    await expect(on.store.renewLease(SESSION, callNow(on.clock))).rejects.toMatchObject({ code: 'LEASE_EXPIRED', outcome: 'refused' });
    expect(on.paths()).toEqual([]);
  });
});
