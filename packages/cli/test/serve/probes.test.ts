/** What the probes of `incumbent serve` answer. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { ElectionAdmin, type Store } from '@incumbent/core';
import { type MemoryStore, openMemory } from '@incumbent/memory';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { serve } from '../../src/serve/serve.ts';
import { TestConsole } from '../support/test-console.ts';
import { ApiClient } from './api-client.ts';

const PATIENT = { timeout: 30_000 };

let folder: string;
let console: TestConsole;
let api: ApiClient;
let stop: AbortController;
let ends: Promise<number>;
/** The store of the sidecar. The sidecar closes it. */
let store: MemoryStore;
/** Another connection to the server of the store. */
let operator: Store;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'serve-probes-'));
  console = new TestConsole();
  [store, operator] = [await openMemory(`memory:${console.name}`), await openMemory(`memory:${console.name}`)];
  api = new ApiClient(`unix:${folder}/s.sock`);
  stop = new AbortController();
  const context = { ...console.context(), openStore: () => Promise.resolve(store) };
  ends = serve({ store: 'redis://127.0.0.1', listen: { path: `${folder}/s.sock` }, member: 's1', drain: 100 }, context, stop.signal);
  await expect
    .poll(
      () =>
        api.call('GET', '/groups/g').then(
          ({ status }) => status,
          () => 0,
        ),
      PATIENT,
    )
    .toBe(200);
});
afterEach(async () => {
  stop.abort();
  expect(await ends).toBe(0);
  await operator.close();
  await rm(folder, { recursive: true });
});

describe('the probe of liveness', { timeout: 60_000 }, () => {
  it('does not fail for a client that has not acknowledged the end of its term, and names its election', async () => {
    const [first, second] = ['/elections/first/candidacies/a', '/elections/second/candidacies/a'];
    const [{ secret, term }, other] = [await api.leads(first), await api.leads(second)];
    expect(await new ElectionAdmin(operator, 'first').stepDown(1n)).toBe(true);
    const health = async (): Promise<unknown> => (await api.call('GET', '/healthz')).body['problems'];
    await expect.poll(health, PATIENT).toMatchObject([{ problem: 'stuck', election: 'first' }]);
    expect(await api.call('GET', '/healthz')).toMatchObject({ status: 200, body: { healthy: true } });
    expect((await api.call('GET', second, { secret: other.secret })).body['leads']).toBe(true);
    await api.call('POST', `${first}/acknowledge`, { secret, body: { term } });
    await expect.poll(health, PATIENT).toEqual([]);
  });
});

describe('the probe of readiness', { timeout: 60_000 }, () => {
  const readiness = async (): Promise<unknown> => {
    const { status, body } = await api.call('GET', '/readyz');
    return [status, body['ready']];
  };

  it('fails without a lease if there is a membership alone', async () => {
    expect(await readiness()).toEqual([200, true]);
    store.link.cutOff();
    const { body } = await api.call('PUT', '/groups/g/membership');
    expect(await readiness()).toEqual([503, false]);
    store.link.heal();
    await expect.poll(readiness, PATIENT).toEqual([200, true]);
    await api.call('DELETE', '/groups/g/membership', { headers: { 'membership-secret': String(body['secret']) } });
    expect(await api.call('GET', '/readyz')).toMatchObject({ status: 200, body: { candidacies: 0, memberships: 0 } });
  });
});
