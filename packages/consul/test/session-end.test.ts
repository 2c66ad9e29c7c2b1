/** When a session has certainly ended, and what a call says until then. */

import type { Clock } from '@incumbent/core';
import { ManualClock } from '@incumbent/memory';
import { describe, expect, it } from 'vitest';

import { openConsul } from '../src/index.ts';
import { leaseCall, openOnFakeAgent, paths, servesLeases, SESSION, startFakeAgent, type FakeResponse } from './fake-agent.ts';

const TTL_MS = 2_000;
const CALL = { timeoutMs: 2_000 };

describe('a session’s end', () => {
  it('is certain if a server with ACLs does not know the session, and a consistent read finds none', async () => {
    await using on = await openOnFakeAgent(servesLeases);
    const { id } = await on.store.grantLease(TTL_MS, leaseCall());
    on.agent.respond = (request) => {
      if (request.path.includes('/session/renew/')) return { status: 404 };
      return request.path.includes('/session/destroy/')
        ? { status: 500, body: `rpc error making call: Unknown session "${SESSION}"` }
        : servesLeases(request);
    };
    await expect(on.store.renewLease(id, leaseCall())).rejects.toMatchObject({ code: 'LEASE_EXPIRED', outcome: 'refused' });
    await on.store.revokeLease(id, CALL);
    expect(on.agent.requests.find(({ path }) => path.includes('/session/info/'))?.query.has('consistent')).toBe(true);
  });

  it('is requested again if a server reported success for a session that it did not know yet', async () => {
    await using on = await openOnFakeAgent(servesLeases);
    const { id } = await on.store.grantLease(TTL_MS, leaseCall());
    const destroyed = (): number => paths(on.agent, '/session/destroy/').length;
    on.agent.respond = (request) => {
      if (request.path.includes('/session/renew/')) return { status: 404 };
      return request.path.includes('/session/info/') ? { body: destroyed() < 2 ? [{ ID: SESSION }] : [] } : servesLeases(request);
    };
    await expect(on.store.renewLease(id, leaseCall())).rejects.toMatchObject({ code: 'LEASE_EXPIRED', outcome: 'refused' });
    expect(destroyed()).toBe(2);
  });

  it.each<[string, FakeResponse]>([
    ['the session still exists', { body: [{ ID: SESSION }] }],
    ['the read fails', { status: 500, body: 'No cluster leader' }],
  ])('is not reported if %s', async (_, info) => {
    await using on = await openOnFakeAgent(servesLeases);
    const { id } = await on.store.grantLease(TTL_MS, leaseCall());
    on.agent.respond = (request) => (request.path.includes('/session/info/') ? info : servesLeases(request));
    await expect(on.store.revokeLease(id, CALL)).rejects.toMatchObject({ code: 'UNAVAILABLE', outcome: 'unknown' });
    await expect(on.store.renewLease(id, leaseCall())).rejects.toMatchObject({ code: 'UNAVAILABLE', outcome: 'unknown' });
  });
});

describe('a call that may have ended the session has an unknown outcome if', () => {
  it.each<[string, FakeResponse | undefined, string]>([
    ['its time is up before the read that confirms it', undefined, 'TIMEOUT'],
    ['the session may not be read', { status: 403, body: 'Permission denied' }, 'PERMISSION_DENIED'],
  ])('%s', async (_, info, code) => {
    await using agent = await startFakeAgent(servesLeases);
    const manual = new ManualClock();
    // Timers fire late, as in a busy process.
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
    agent.respond = (request) => {
      if (request.path.includes('/session/renew/')) return { status: 404 };
      if (request.path.includes('/session/info/')) return info;
      if (info === undefined && request.path.includes('/session/destroy/')) lateMs += CALL.timeoutMs;
      return servesLeases(request);
    };
    await expect(store.revokeLease(id, CALL)).rejects.toMatchObject({ code, outcome: 'unknown' });
    await expect(store.renewLease(id, { ...CALL, at })).rejects.toMatchObject({ code, outcome: 'unknown' });
  });
});
