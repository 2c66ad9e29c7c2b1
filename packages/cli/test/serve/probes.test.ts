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

/** A candidacy that leads. Returns its path and its secret. */
async function leads(election: string): Promise<{ readonly path: string; readonly secret: string }> {
  const path = `/elections/${election}/candidacies/a`;
  const { body } = await api.call('PUT', path);
  const secret = String(body['secret']);
  await expect.poll(async () => (await api.call('GET', path, { secret })).body['leads'], PATIENT).toBe(true);
  return { path, secret };
}

describe('the probe of liveness', { timeout: 60_000 }, () => {
  it('does not fail for a client that has not acknowledged the end of its term, and names its election', async () => {
    const [first, second] = [await leads('first'), await leads('second')];
    expect(await new ElectionAdmin(operator, 'first').stepDown(1n)).toBe(true);
    const health = async (): Promise<unknown> => (await api.call('GET', '/healthz')).body['problems'];
    await expect.poll(health, PATIENT).toMatchObject([{ problem: 'stuck', election: 'first' }]);
    expect(await api.call('GET', '/healthz')).toMatchObject({ status: 200, body: { healthy: true } });
    expect((await api.call('GET', second.path, { secret: second.secret })).body['leads']).toBe(true);
    await api.call('POST', `${first.path}/acknowledge`, { secret: first.secret, body: { term: '1' } });
    await expect.poll(health, PATIENT).toEqual([]);
  });
});
