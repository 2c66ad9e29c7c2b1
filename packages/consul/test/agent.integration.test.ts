/** What happens to a lease when its agent is restarted or cut off, or its check is removed. */

import { setTimeout as sleep } from 'node:timers/promises';

import { isIncumbentError, systemClock, type Store } from '@incumbent/core';
import { requireStore, startConsulCluster, uniqueNamespace, until, type ConsulCluster } from '@incumbent/test-support';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { openConsul } from '../src/index.ts';
import { leaseCall } from './fake-agent.ts';
import { hostOf } from './opening.ts';
import { Operator } from './operator.ts';

const CALL = { timeoutMs: 3_000 };
const TTL_MS = 10_000;

describe.runIf(await requireStore({ store: 'consul', own: true }))('a lease', () => {
  let cluster: ConsulCluster;
  let agent: ConsulCluster['agents'][number];

  beforeAll(async () => {
    cluster = await startConsulCluster({ size: 1, agents: 1, gated: true });
    const [first] = cluster.agents;
    if (first === undefined) throw new Error('the cluster has no agent');
    agent = first;
  });
  afterAll(() => cluster.stop());

  async function bound(namespace: string): Promise<{ readonly store: Store; readonly lease: string }> {
    const store = await openConsul({ endpoint: hostOf(agent), namespace, session: 'check' });
    const { id: lease } = await store.grantLease(TTL_MS, leaseCall());
    await store.compareAndSwap([{ key: 'a', expect: null, put: new Uint8Array([1]), lease }], CALL);
    return { store, lease };
  }

  /** A store on a server, not on the agent. */
  function openOnServer(namespace: string): Promise<Store> {
    return openConsul({ endpoint: hostOf(cluster), namespace });
  }

  it('survives its agent, which is killed and restarted on its data within the ttl', async () => {
    const namespace = uniqueNamespace();
    const { store, lease } = await bound(namespace);
    await agent.restart();
    // Within this time, the restarted agent has reported everything to the servers.
    await using other = await openOnServer(namespace);
    const from = performance.now();
    while (performance.now() - from < 4_000) {
      expect(await other.read('a', CALL)).toMatchObject({ lease });
      await sleep(200);
    }
    await store.renewLease(lease, leaseCall());
    expect(await other.read('a', CALL)).toMatchObject({ lease });
    await store.revokeLease(lease, CALL);
    expect(await other.read('a', CALL)).toBeUndefined();
    await store.close();
  });

  it('ends early if somebody removes its check, and its renewal reports that', async () => {
    const namespace = uniqueNamespace();
    const { store, lease } = await bound(namespace);
    expect(store.capabilities.endsEarly).toContain('removes');
    await new Operator(agent.url).removeChecks(`incumbent ${namespace}`);
    await using other = await openOnServer(namespace);
    await until(async () => (await other.read('a', CALL)) === undefined || undefined, { what: 'the key is gone', withinMs: 0.9 * TTL_MS });
    await expect(store.renewLease(lease, leaseCall())).rejects.toMatchObject({ code: 'LEASE_EXPIRED', outcome: 'refused' });
    await store.close();
  });

  it('ends by the ttl of its session if its agent is cut off; the agent still acknowledges, but no renewal succeeds', async () => {
    const namespace = uniqueNamespace();
    const { store, lease } = await bound(namespace);
    await using other = await openOnServer(namespace);
    cluster.cutOff();
    const from = performance.now();
    let renewals = 0;
    const renewing = async (): Promise<true | undefined> => {
      await store.renewLease(lease, leaseCall(systemClock, 1_000)).then(
        () => (renewals += 1),
        () => {},
      );
      return (await other.read('a', CALL)) === undefined || undefined;
    };
    await until(renewing, { what: 'the key is gone', withinMs: 3 * TTL_MS });
    expect(performance.now() - from).toBeGreaterThan(TTL_MS * 0.95);
    expect(renewals).toBe(0);
    await cluster.heal();
    const gone = async (): Promise<unknown> => {
      const error: unknown = await store.renewLease(lease, leaseCall()).catch((reason: unknown) => reason);
      return isIncumbentError(error, 'LEASE_EXPIRED') ? error : undefined;
    };
    expect(await until(gone, { what: 'the agent serves again', withinMs: 20_000 })).toMatchObject({ outcome: 'refused' });
    await store.close();
  });
});
