import type { Store } from '@incumbent/core';
import { openMemory } from '@incumbent/memory';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import type { ApiServer } from '../../src/serve/http/server.ts';
import { Sidecar } from '../../src/serve/sidecar.ts';
import { ApiClient, errorOf } from './api-client.ts';
import { startApi } from './api-server.ts';

const CANDIDACY = '/elections/e/candidacies/a';
const MEMBERSHIP = '/groups/g/membership';
const TOO_LARGE = [413, 'TOO_LARGE'];
const value = 'x'.repeat(20_000);

let store: Store;
let sidecar: Sidecar;
let server: ApiServer;
let api: ApiClient;
beforeEach(async () => {
  store = await openMemory({ server: { maxValueBytes: 10_000 } });
  sidecar = new Sidecar(store, { memberId: 's1', ttlMs: 20_000, drainMs: 200 });
  server = await startApi(() => sidecar);
  api = new ApiClient(server.url);
});
afterEach(async () => {
  await server.close();
  await sidecar.close();
  await store.close();
});

describe('a value that the store cannot hold', () => {
  it('is refused as at publish when a candidacy is created or changed', async () => {
    const { secret, term } = await api.leads(CANDIDACY);
    expect(errorOf(await api.call('POST', `${CANDIDACY}/publish`, { secret, body: { term, value } }))).toEqual(TOO_LARGE);
    expect(errorOf(await api.call('PUT', '/elections/f/candidacies/a', { body: { value } }))).toEqual(TOO_LARGE);
    expect(sidecar.size).toBe(1);
    expect(errorOf(await api.call('PUT', CANDIDACY, { secret, body: { value, renewWithinMs: 5_000 } }))).toEqual(TOO_LARGE);
    expect((await api.call('GET', CANDIDACY, { secret })).body).toMatchObject({ leads: true, renewWithinMs: 15_000 });
  });

  it('is refused when a membership is created or changed', async () => {
    expect(errorOf(await api.call('PUT', MEMBERSHIP, { body: { value } }))).toEqual(TOO_LARGE);
    const made = await api.call('PUT', MEMBERSHIP, { body: { value: 'small' } });
    const headers = { 'membership-secret': String(made.body['secret']) };
    expect(errorOf(await api.call('PUT', MEMBERSHIP, { headers, body: { value } }))).toEqual(TOO_LARGE);
    while ((await api.call('GET', MEMBERSHIP, { headers })).body['joined'] !== true) await new Promise(setImmediate);
    expect((await api.call('GET', '/groups/g')).body['members']).toEqual([{ member: 's1', value: 'small' }]);
  });
});
