import { StoreError, type Clock, type Store } from '@incumbent/core';
import { ManualClock } from '@incumbent/memory';
import { connectSocket } from '@incumbent/network';
import { stall, until } from '@incumbent/test-support';
import { describe, expect, it } from 'vitest';

import { openConsul, type ConsulOptions } from '../src/index.ts';
import { opens, startFakeAgent, type Asked, type FakeAgent, type Said } from './fake-agent.ts';

const ID = '11111111-2222-3333-4444-555555555555';
const TTL_MS = 2_000;

/** Consul as far as leases go. */
function serves(asked: Asked): Said | undefined {
  if (asked.path === '/v1/session/create') return { body: { ID } };
  return asked.path.startsWith('/v1/session/') ? { body: [] } : opens(asked);
}

function callNow(clock: Clock) {
  return { timeoutMs: 1_000, at: { monotonicMs: clock.monotonic(), wallMs: clock.wall() } };
}

function bodyOf({ body }: Asked): Readonly<Record<string, unknown>> {
  const parsed: Readonly<Record<string, unknown>> = JSON.parse(body || '{}');
  return parsed;
}

interface Scene extends AsyncDisposable {
  readonly agent: FakeAgent;
  readonly clock: ManualClock;
  readonly store: Store;
  /** Paths from here on, checks' names left out. */
  asked(): readonly string[];
}

async function scene(options: Partial<ConsulOptions> = {}): Promise<Scene> {
  const agent = await startFakeAgent(serves);
  const clock = new ManualClock();
  const store = await openConsul({ endpoint: agent.endpoint, clock, ...options });
  const from = agent.asked.length;
  return {
    agent,
    clock,
    store,
    asked: () => agent.asked.slice(from).map(({ path }) => path.replace(/incumbent:.*/, '*').replace(ID, 'ID')),
    [Symbol.asyncDispose]: async () => {
      await store.close();
      await agent[Symbol.asyncDispose]();
    },
  };
}

describe('a lease', () => {
  it('is a session bound to a check of the agent, and not to the node’s health', async () => {
    await using on = await scene({ lockDelayMs: 1_500 });
    const lease = await on.store.grantLease(TTL_MS, callNow(on.clock));
    expect(lease).toMatchObject({ id: ID, ttlMs: TTL_MS });
    expect(on.asked()).toEqual(['/v1/agent/check/register', '/v1/agent/check/pass/*', '/v1/session/create']);
    const [check, , session] = on.agent.asked.slice(-3).map(bodyOf);
    expect(check).toMatchObject({ TTL: '2000ms', Status: 'passing' });
    expect(session).toMatchObject({ NodeChecks: [check?.['ID']], TTL: '10000ms', Behavior: 'delete', LockDelay: '1500ms' });
  });

  it('of 60 s is one of both', async () => {
    await using on = await scene();
    await on.store.grantLease(60_000, callNow(on.clock));
    const [check, , session] = on.agent.asked.slice(-3).map(bodyOf);
    expect([check?.['TTL'], session?.['TTL'], session?.['LockDelay']]).toEqual(['60000ms', '60000ms', '0ms']);
  });

  it('by its ttl alone is bound to nothing else, and no shorter than servers grant', async () => {
    await using on = await scene({ session: 'ttl' });
    expect(await on.store.grantLease(TTL_MS, callNow(on.clock))).toMatchObject({ ttlMs: 10_000 });
    expect(on.asked()).toEqual(['/v1/session/create']);
    expect(on.agent.asked.slice(-1).map(bodyOf)[0]).toMatchObject({ NodeChecks: [], TTL: '10000ms' });
  });

  it('waits for the servers to hear of its check', async () => {
    await using agent = await startFakeAgent(serves);
    await using store = await openConsul({ endpoint: agent.endpoint });
    let tries = 0;
    agent.answer = (asked) => {
      if (asked.path !== '/v1/session/create' || (tries += 1) > 3) return serves(asked);
      return { status: 500, body: "Missing check 'x' registration" };
    };
    const at = { monotonicMs: 1, wallMs: 1 };
    expect(await store.grantLease(TTL_MS, { timeoutMs: 2_000, at })).toMatchObject({ id: ID, validFrom: at });
    expect(tries).toBe(4);
  });

  it('that could not be made leaves no check behind', async () => {
    await using on = await scene();
    on.agent.answer = (asked) => (asked.path === '/v1/session/create' ? { status: 500, body: 'No cluster leader' } : serves(asked));
    await expect(on.store.grantLease(TTL_MS, callNow(on.clock))).rejects.toMatchObject({ code: 'UNAVAILABLE', outcome: 'unknown' });
    await on.store.close();
    expect(on.asked().slice(-2)).toEqual(['/v1/session/create', '/v1/agent/check/deregister/*']);
  });
});

describe('a renewal', () => {
  it('is the check passed and the session renewed, and vouches from its own moment on', async () => {
    await using on = await scene();
    await on.store.grantLease(TTL_MS, callNow(on.clock));
    await on.clock.advance(1_900);
    const call = callNow(on.clock);
    expect(await on.store.renewLease(ID, call)).toEqual({ ttlMs: TTL_MS, validFrom: call.at });
    expect(on.asked().slice(3).toSorted()).toEqual(['/v1/agent/check/pass/*', '/v1/session/renew/ID']);
  });

  it.each([
    ['the agent alone', '/v1/session/renew'],
    ['the servers alone', '/v1/agent/check/pass'],
  ])('that %s has heard of vouches for nothing', async (_, silent) => {
    await using on = await scene();
    await on.store.grantLease(TTL_MS, callNow(on.clock));
    on.agent.answer = (asked) => (asked.path.startsWith(silent) ? { status: 500, body: 'No cluster leader' } : serves(asked));
    await expect(on.store.renewLease(ID, callNow(on.clock))).rejects.toMatchObject({ code: 'UNAVAILABLE', outcome: 'unknown' });
  });

  it.each<[string, (asked: Asked) => boolean, Said]>([
    ['a server that does not know the session', ({ path }) => path.startsWith('/v1/session/renew'), { status: 404 }],
    [
      'an agent that has lost the check',
      ({ path }) => path.includes('/pass/'),
      { status: 500, body: 'CheckID "x" does not have associated TTL' },
    ],
    ['a later agent that has lost it', ({ path }) => path.includes('/pass/'), { status: 404, body: 'Unknown check ID "x"' }],
  ])('that %s turns away ends the session, so that it is certainly gone', async (_, is, said) => {
    await using on = await scene();
    await on.store.grantLease(TTL_MS, callNow(on.clock));
    on.agent.answer = (asked) => (is(asked) ? said : serves(asked));
    await expect(on.store.renewLease(ID, callNow(on.clock))).rejects.toMatchObject({ code: 'LEASE_EXPIRED', outcome: 'refused' });
    await on.store.close();
    expect(on.asked().slice(-3)).toEqual(['/v1/session/destroy/ID', '/v1/session/info/ID', '/v1/agent/check/deregister/*']);
  });

  it('is not called refused while the session may live: its end is tried again', async () => {
    await using on = await scene();
    await on.store.grantLease(TTL_MS, callNow(on.clock));
    on.agent.answer = (asked) => {
      if (asked.path.startsWith('/v1/session/renew')) return { status: 404 };
      return asked.path.startsWith('/v1/session/destroy') ? { status: 500, body: 'No cluster leader' } : serves(asked);
    };
    await expect(on.store.renewLease(ID, callNow(on.clock))).rejects.toMatchObject({ code: 'UNAVAILABLE', outcome: 'unknown' });
    on.agent.answer = serves;
    await expect(on.store.renewLease(ID, callNow(on.clock))).rejects.toMatchObject({ code: 'LEASE_EXPIRED', outcome: 'refused' });
  });

  it.each([
    ['a ttl', (clock: ManualClock) => clock.advance(TTL_MS)],
    ['a ttl by the wall, as after a suspension', async (clock: ManualClock) => clock.setWall(clock.wall() + TTL_MS)],
  ])(
    'that comes later than %s after the one before vouches for nothing: the check may have turned critical in between',
    async (_, pass) => {
      await using on = await scene();
      await on.store.grantLease(TTL_MS, callNow(on.clock));
      await pass(on.clock);
      await expect(on.store.renewLease(ID, callNow(on.clock))).rejects.toMatchObject({ code: 'LEASE_EXPIRED', outcome: 'refused' });
      expect(on.asked()).toContain('/v1/session/destroy/ID');
    },
  );

  it('whose time is up between any two looks at the clock fails once, and leaves nothing behind that fails unheard', async () => {
    const outcomes: unknown[] = [];
    for (let look = 1; look <= 12; look += 1) {
      const on = await scene();
      await on.store.grantLease(TTL_MS, callNow(on.clock));
      on.agent.answer = () => undefined;
      const call = callNow(on.clock);
      stall(on.clock, look, call.timeoutMs);
      const renewal = on.store.renewLease(ID, call).catch((error: unknown) => outcomes.push(error));
      await on.clock.advance(call.timeoutMs);
      await renewal;
      // What fails with nobody to handle it fails this run.
      await on[Symbol.asyncDispose]();
    }
    expect(outcomes.filter((outcome) => !(outcome instanceof StoreError))).toEqual([]);
    expect(outcomes).toHaveLength(12);
  });

  it('waits behind no other call, however many have no answer', async () => {
    await using on = await scene();
    await on.store.grantLease(TTL_MS, callNow(on.clock));
    on.agent.answer = (asked) => (asked.path === '/v1/txn' ? undefined : serves(asked));
    const change = { expect: null, put: new Uint8Array() };
    const swaps = Array.from({ length: 64 }, (_, i) => on.store.compareAndSwap([{ ...change, key: `k${i}` }], { timeoutMs: 60_000 }));
    for (const swap of swaps) swap.catch(() => {});
    await until(() => on.asked().filter((path) => path === '/v1/txn').length === 64, { what: 'as many as there may be' });
    await on.store.renewLease(ID, callNow(on.clock));
    expect(on.asked().slice(-2).toSorted()).toEqual(['/v1/agent/check/pass/*', '/v1/session/renew/ID']);
  });

  it('of a lease that this store was not granted is refused', async () => {
    await using on = await scene();
    await expect(on.store.renewLease(ID, callNow(on.clock))).rejects.toMatchObject({ code: 'LEASE_EXPIRED', outcome: 'refused' });
    expect(on.asked()).toEqual([]);
  });
});

describe('checks', () => {
  it('that dead processes have left are removed at opening; those of others, and those that pass, are not', async () => {
    await using agent = await startFakeAgent((asked) => {
      if (asked.path !== '/v1/agent/checks') return serves(asked);
      return { body: { 'incumbent:dead': { Status: 'critical' }, 'incumbent:live': { Status: 'passing' }, disk: { Status: 'critical' } } };
    });
    await using _store = await openConsul({ endpoint: agent.endpoint });
    const removed = agent.asked.filter(({ path }) => path.includes('/deregister/')).map(({ path }) => path.split('/').at(-1));
    expect(removed).toHaveLength(2);
    expect(removed).toContain('incumbent:dead');
  });

  it('that cannot be removed hinder nobody', async () => {
    await using agent = await startFakeAgent((asked) => {
      if (asked.path.endsWith('dead')) return { status: 500, body: 'it does not want to' };
      return asked.path === '/v1/agent/checks' ? { body: { 'incumbent:dead': { Status: 'critical' } } } : serves(asked);
    });
    await using store = await openConsul({ endpoint: agent.endpoint });
    expect(store.capabilities.minTtlMs).toBe(1_000);
  });

  it('are done without where the agent does not allow them, unless they were asked for', async () => {
    const forbids = (asked: Asked): Said | undefined =>
      asked.path.startsWith('/v1/agent/') ? { status: 403, body: 'Permission denied' } : serves(asked);
    await using agent = await startFakeAgent(forbids);
    await using store = await openConsul({ endpoint: agent.endpoint });
    expect(store.capabilities.minTtlMs).toBe(10_000);
    await expect(openConsul({ endpoint: agent.endpoint, session: 'check' })).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
  });

  it('are not asked for from an agent of another machine', async () => {
    await using agent = await startFakeAgent(serves);
    const [host = '', port = ''] = agent.endpoint.split(':');
    await using store = await openConsul({
      endpoint: 'consul.internal',
      connect: (_, signal) => connectSocket({ host, port: Number(port) }, {}, signal),
    });
    expect(store.capabilities).toMatchObject({ minTtlMs: 10_000 });
    expect(agent.asked.filter(({ path }) => path.startsWith('/v1/agent/'))).toEqual([]);
  });
});
