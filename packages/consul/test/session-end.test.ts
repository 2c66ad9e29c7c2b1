/**
 * The end of a session is said when it is certain, and what it leaves does not pile up. Real time: an
 * agent that answers a few ms late shows how many requests are under way, and its sockets are real.
 */

import { systemClock, type Clock, type Store } from '@incumbent/core';
import { ManualClock } from '@incumbent/memory';
import { until } from '@incumbent/test-support';
import { describe, expect, it } from 'vitest';

import { openConsul } from '../src/index.ts';
import { opens, startFakeAgent, type Answer, type Asked, type FakeAgent, type Said } from './fake-agent.ts';

const ID = '11111111-2222-3333-4444-555555555555';
const TTL_MS = 2_000;
const CALL = { timeoutMs: 2_000 };

function now(clock: Clock = systemClock) {
  return { ...CALL, at: { monotonicMs: clock.monotonic(), wallMs: clock.wall() } };
}

function serves(asked: Asked): Said | undefined {
  if (asked.path === '/v1/session/create') return { body: { ID } };
  return asked.path.startsWith('/v1/session/') ? { body: [] } : opens(asked);
}

async function scene(
  answer: Answer = serves,
  clock: Clock = systemClock,
): Promise<AsyncDisposable & { readonly agent: FakeAgent; readonly store: Store }> {
  const agent = await startFakeAgent(answer);
  const store = await openConsul({ endpoint: agent.endpoint, clock });
  return {
    agent,
    store,
    [Symbol.asyncDispose]: async () => {
      await store.close();
      await agent[Symbol.asyncDispose]();
    },
  };
}

function paths(agent: FakeAgent, part: string): readonly string[] {
  return agent.asked.map(({ path }) => path).filter((path) => path.includes(part));
}

describe('a session’s end', () => {
  it('is certain where a server with access rules says that it does not know it, and nobody does', async () => {
    await using on = await scene();
    const { id } = await on.store.grantLease(TTL_MS, now());
    on.agent.answer = (asked) => {
      if (asked.path.includes('/session/renew/')) return { status: 404 };
      return asked.path.includes('/session/destroy/')
        ? { status: 500, body: `rpc error making call: Unknown session "${ID}"` }
        : serves(asked);
    };
    await expect(on.store.renewLease(id, now())).rejects.toMatchObject({ code: 'LEASE_EXPIRED', outcome: 'refused' });
    await on.store.revokeLease(id, CALL);
    expect(on.agent.asked.find(({ path }) => path.includes('/session/info/'))?.query.has('consistent')).toBe(true);
  });

  it('is asked for again where a server that did not know it yet said that it is done', async () => {
    await using on = await scene();
    const { id } = await on.store.grantLease(TTL_MS, now());
    const destroyed = (): number => paths(on.agent, '/session/destroy/').length;
    on.agent.answer = (asked) => {
      if (asked.path.includes('/session/renew/')) return { status: 404 };
      return asked.path.includes('/session/info/') ? { body: destroyed() < 2 ? [{ ID }] : [] } : serves(asked);
    };
    await expect(on.store.renewLease(id, now())).rejects.toMatchObject({ code: 'LEASE_EXPIRED', outcome: 'refused' });
    expect(destroyed()).toBe(2);
  });

  it.each<[string, Said]>([
    ['it is still there', { body: [{ ID }] }],
    ['nobody knows', { status: 500, body: 'No cluster leader' }],
  ])('is not said where %s', async (_, info) => {
    await using on = await scene();
    const { id } = await on.store.grantLease(TTL_MS, now());
    on.agent.answer = (asked) => (asked.path.includes('/session/info/') ? info : serves(asked));
    await expect(on.store.revokeLease(id, CALL)).rejects.toMatchObject({ code: 'UNAVAILABLE', outcome: 'unknown' });
    await expect(on.store.renewLease(id, now())).rejects.toMatchObject({ code: 'UNAVAILABLE', outcome: 'unknown' });
  });
});

describe('a call that has done something is never said not to have been sent, or refused, where', () => {
  it.each<[string, Said | undefined, string]>([
    ['its time is over before it is certain', undefined, 'TIMEOUT'],
    ['it may not be looked at', { status: 403, body: 'Permission denied' }, 'PERMISSION_DENIED'],
  ])('%s', async (_, info, code) => {
    await using agent = await startFakeAgent(serves);
    const manual = new ManualClock();
    // Its timers are late, as when the process is busy.
    let lateMs = 0;
    const clock: Clock = {
      monotonic: () => manual.monotonic() + lateMs,
      wall: () => manual.wall(),
      schedule: (delayMs, task) => manual.schedule(delayMs, task),
      keepAlive: () => manual.keepAlive(),
    };
    await using store = await openConsul({ endpoint: agent.endpoint, clock });
    const at = { monotonicMs: clock.monotonic(), wallMs: clock.wall() };
    const { id } = await store.grantLease(TTL_MS, { ...CALL, at });
    agent.answer = (asked) => {
      if (asked.path.includes('/session/renew/')) return { status: 404 };
      if (asked.path.includes('/session/info/')) return info;
      if (info === undefined && asked.path.includes('/session/destroy/')) lateMs += CALL.timeoutMs;
      return serves(asked);
    };
    await expect(store.revokeLease(id, CALL)).rejects.toMatchObject({ code, outcome: 'unknown' });
    await expect(store.renewLease(id, { ...CALL, at })).rejects.toMatchObject({ code, outcome: 'unknown' });
  });
});

describe('checks that cannot be removed', () => {
  it('are tried for one at a time, and once for each that joins them', async () => {
    let underWay = 0;
    let most = 0;
    // Stands still, so that no removal takes too long on a busy machine.
    const clock = new ManualClock();
    await using on = await scene(serves, clock);
    on.agent.answer = async (asked) => {
      if (asked.path === '/v1/session/create') return { status: 500, body: 'No cluster leader' };
      if (!asked.path.includes('/deregister/')) return serves(asked);
      most = Math.max(most, (underWay += 1));
      await new Promise((resolve) => void setTimeout(resolve, 2));
      underWay -= 1;
      return { status: 500, body: 'it does not want to' };
    };
    const from = paths(on.agent, '/deregister/').length;
    for (let lost = 0; lost < 30; lost += 1)
      await expect(on.store.grantLease(TTL_MS, now(clock))).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(most).toBe(1);
    expect(paths(on.agent, '/deregister/').length - from).toBeLessThanOrEqual(30);
    on.agent.answer = serves;
    await on.store.close();
    expect(new Set(paths(on.agent, '/deregister/').slice(from)).size).toBe(30);
  });

  it('are not tried for where there are none', async () => {
    await using on = await scene();
    const from = paths(on.agent, '/deregister/').length;
    on.agent.answer = ({ path }) => (path.endsWith('/register') ? { status: 403, body: 'Permission denied' } : undefined);
    await expect(on.store.grantLease(TTL_MS, now())).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    await on.store.close();
    expect(paths(on.agent, '/deregister/').slice(from)).toEqual([]);
  });

  it('are tried for where nobody knows whether there is one', async () => {
    await using on = await scene();
    on.agent.answer = (asked) => (asked.path.endsWith('/register') ? 'reset' : serves(asked));
    await expect(on.store.grantLease(TTL_MS, now())).rejects.toMatchObject({ outcome: 'unknown' });
    await until(() => paths(on.agent, '/deregister/').length === 2 || undefined, { what: 'it is removed' });
  });

  it('hold up the store’s close for half a second', async () => {
    await using on = await scene();
    for (let lease = 0; lease < 5; lease += 1) await on.store.grantLease(TTL_MS, now());
    on.agent.answer = (asked) => (asked.path.includes('/deregister/') ? undefined : serves(asked));
    await on.store.revokeLease(ID, CALL);
    const from = performance.now();
    await on.store.close();
    // Far from never, which is when the agent answers.
    expect(performance.now() - from).toBeLessThan(20_000);
  });

  it('of dead processes are so many at an opening that the agent’s connections last, whatever they are called', async () => {
    const orphans = Array.from({ length: 300 }, (_, i) => [`incumbent:a/../?b ${i}`, { Status: 'critical' }]);
    let underWay = 0;
    let most = 0;
    await using agent = await startFakeAgent(async (asked) => {
      if (asked.path === '/v1/agent/checks') return { body: Object.fromEntries(orphans) };
      if (!asked.path.includes('/deregister/')) return serves(asked);
      most = Math.max(most, (underWay += 1));
      await new Promise((resolve) => void setTimeout(resolve, 5));
      underWay -= 1;
      return { body: {} };
    });
    await using _store = await openConsul({ endpoint: agent.endpoint });
    expect(most).toBeLessThanOrEqual(50);
    expect(paths(agent, '/deregister/')).toContain('/v1/agent/check/deregister/incumbent:a/../?b 7');
  });

  it('of dead processes hold up an opening for half a second', async () => {
    await using agent = await startFakeAgent((asked) => {
      if (asked.path === '/v1/agent/checks') return { body: { 'incumbent:dead': { Status: 'critical' } } };
      return asked.path.endsWith('dead') ? undefined : serves(asked);
    });
    const from = performance.now();
    await using _store = await openConsul({ endpoint: agent.endpoint });
    expect(performance.now() - from).toBeLessThan(20_000);
  });
});
