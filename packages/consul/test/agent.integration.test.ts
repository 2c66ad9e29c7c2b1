/** What becomes of a lease when its agent, or its check, does. */

import { setTimeout as sleep } from 'node:timers/promises';

import { isIncumbentError, type Store } from '@incumbent/core';
import { requireStore, startConsulCluster, uniqueNamespace, until, type ConsulCluster } from '@incumbent/test-support';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { openConsul } from '../src/index.ts';
import { Operator } from './operator.ts';

const CALL = { timeoutMs: 3_000 };
const TTL_MS = 10_000;

function now() {
  return { ...CALL, at: { monotonicMs: performance.now(), wallMs: Date.now() } };
}

describe.runIf(await requireStore({ store: 'consul', own: true }))('a lease', () => {
  let cluster: ConsulCluster;
  let agent: ConsulCluster['agents'][number];

  beforeAll(async () => {
    cluster = await startConsulCluster({ size: 1, agents: 1, gated: true });
    const [first] = cluster.agents;
    if (first === undefined) throw new Error('there is an agent');
    agent = first;
  });
  afterAll(() => cluster.stop());

  async function bound(namespace: string): Promise<{ readonly store: Store; readonly lease: string }> {
    const store = await openConsul({ endpoint: new URL(agent.url).host, namespace, session: 'check' });
    const { id: lease } = await store.grantLease(TTL_MS, now());
    await store.compareAndSwap([{ key: 'a', expect: null, put: new Uint8Array([1]), lease }], CALL);
    return { store, lease };
  }

  /** From the server itself. */
  function witness(namespace: string): Promise<Store> {
    return openConsul({ endpoint: new URL(cluster.url).host, namespace });
  }

  it('outlives its agent, which is killed and started again on its data within the ttl', async () => {
    const namespace = uniqueNamespace();
    const { store, lease } = await bound(namespace);
    await agent.restart();
    // Whatever the agent has to tell the servers when it is back: they are told within this time.
    await using other = await witness(namespace);
    const from = performance.now();
    while (performance.now() - from < 4_000) {
      expect(await other.read('a', CALL)).toMatchObject({ lease });
      await sleep(200);
    }
    await store.renewLease(lease, now());
    expect(await other.read('a', CALL)).toMatchObject({ lease });
    await store.revokeLease(lease, CALL);
    expect(await other.read('a', CALL)).toBeUndefined();
    await store.close();
  });

  it('ends early with its check when somebody removes that, and its renewal says so', async () => {
    const namespace = uniqueNamespace();
    const { store, lease } = await bound(namespace);
    expect(store.capabilities.endsEarly).toContain('removes');
    await new Operator(agent.url).removeChecks(`incumbent ${namespace}`);
    await using other = await witness(namespace);
    await until(async () => (await other.read('a', CALL)) === undefined || undefined, { what: 'the key is gone', withinMs: 0.9 * TTL_MS });
    await expect(store.renewLease(lease, now())).rejects.toMatchObject({ code: 'LEASE_EXPIRED', outcome: 'refused' });
    await store.close();
  });

  it('ends by its session’s ttl when its agent is cut off, though that goes on acknowledging, and no renewal is', async () => {
    const namespace = uniqueNamespace();
    const { store, lease } = await bound(namespace);
    await using other = await witness(namespace);
    cluster.cutOff();
    const from = performance.now();
    let renewals = 0;
    const renewing = async (): Promise<true | undefined> => {
      await store.renewLease(lease, { ...now(), timeoutMs: 1_000 }).then(
        () => (renewals += 1),
        () => {},
      );
      return (await other.read('a', CALL)) === undefined || undefined;
    };
    await until(renewing, { what: 'the key is gone', withinMs: 3 * TTL_MS });
    expect(performance.now() - from).toBeGreaterThan(TTL_MS * 0.95);
    expect(renewals).toBe(0);
    await cluster.heal();
    const told = async (): Promise<unknown> => {
      const error: unknown = await store.renewLease(lease, now()).catch((reason: unknown) => reason);
      return isIncumbentError(error, 'LEASE_EXPIRED') ? error : undefined;
    };
    expect(await until(told, { what: 'the agent serves again', withinMs: 20_000 })).toMatchObject({ outcome: 'refused' });
    await store.close();
  });
});
