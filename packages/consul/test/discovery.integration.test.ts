/** What leases mean for the other services of their host. */

import type { Store } from '@incumbent/core';
import { requireStore, startConsul, uniqueNamespace, until, type ConsulServer } from '@incumbent/test-support';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { openConsul } from '../src/index.ts';
import { leaseCall } from './fake-agent.ts';
import { hostOf } from './opening.ts';

const CALL = { timeoutMs: 5_000 };
const TTL_MS = 1_000;

describe.runIf(await requireStore({ store: 'consul', own: true }))('a lease', () => {
  let consul: ConsulServer;
  beforeAll(async () => {
    consul = await startConsul();
  });
  afterAll(() => consul.stop());

  async function ask(path: string, body?: unknown): Promise<unknown> {
    const init = body === undefined ? {} : { method: 'PUT', body: JSON.stringify(body) };
    const response = await fetch(new URL(path, consul.url), { ...init, signal: AbortSignal.timeout(CALL.timeoutMs) });
    expect(response.status).toBe(200);
    return body === undefined ? response.json() : undefined;
  }

  /** How many instances of the service clients find. */
  async function passing(service: string): Promise<number> {
    return Object.keys(Object(await ask(`/v1/health/service/${service}?passing&consistent`))).length;
  }

  /** The ids of the services and of the checks that the agent has. */
  async function idsOnAgent(): Promise<readonly string[]> {
    const all = [await ask('/v1/agent/services'), await ask('/v1/agent/checks')];
    return all.flatMap((byId) => Object.keys(Object(byId))).toSorted();
  }

  /** A store with a key that is bound to a lease. */
  async function bound(namespace: string): Promise<{ readonly store: Store; readonly lease: string }> {
    const store = await openConsul({ endpoint: hostOf(consul), namespace, session: 'check' });
    const { id: lease } = await store.grantLease(TTL_MS, leaseCall());
    await store.compareAndSwap([{ key: 'a', expect: null, put: new Uint8Array([1]), lease }], CALL);
    return { store, lease };
  }

  it('that its process no longer renews leaves the other services of the host in discovery', async () => {
    await ask('/v1/agent/service/register', { Name: 'web', Check: { TTL: '1h', Status: 'passing' } });
    await until(async () => (await passing('web')) === 1 || undefined, { what: 'the servers know the service' });
    const { store } = await bound(uniqueNamespace());
    await until(async () => (await store.read('a', CALL)) === undefined || undefined, { what: 'the end of the lease', withinMs: 20_000 });
    expect(await passing('web')).toBe(1);
    await store.close();
  });

  it('that is revoked leaves neither a service nor a check on the agent', async () => {
    const before = await idsOnAgent();
    const { store, lease } = await bound(uniqueNamespace());
    const [first, second, ...others] = (await idsOnAgent()).filter((id) => !before.includes(id));
    expect([first, others]).toEqual([expect.stringMatching(/^incumbent:/), []]);
    expect(second).toBe(first);
    await store.revokeLease(lease, CALL);
    await store.close();
    await until(async () => !(await idsOnAgent()).includes(first ?? ''), { what: 'the removal of the service' });
  });

  // The agent waits for a minute, and looks every 30 s.
  it('of a process that has died leaves nothing on the agent after some minutes', { timeout: 300_000 }, async () => {
    const before = await idsOnAgent();
    const { store } = await bound(uniqueNamespace());
    const left = (await idsOnAgent()).find((id) => !before.includes(id));
    expect(left).toMatch(/^incumbent:/);
    // Closing keeps live leases, as a process does that dies.
    await store.close();
    await until(async () => !(await idsOnAgent()).includes(left ?? ''), { what: 'the removal by the agent', withinMs: 240_000 });
  });
});
