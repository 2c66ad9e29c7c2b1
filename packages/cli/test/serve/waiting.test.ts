/** What `incumbent serve` answers while it waits for the store at its start. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { type Store, StoreError } from '@incumbent/core';
import { openMemory } from '@incumbent/memory';
import { openStore } from 'incumbent';
import { afterEach, beforeEach, expect, it } from 'vitest';

import { serve } from '../../src/serve/serve.ts';
import { TestConsole } from '../support/test-console.ts';
import { ApiClient } from './api-client.ts';

const PATIENT = { timeout: 30_000 };

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'serve-waiting-'));
});
afterEach(() => rm(folder, { recursive: true }));

it(
  'answers probes while the store is away, refuses all else with UNREACHABLE, and serves once the store is there',
  { timeout: 60_000 },
  async () => {
    const api = new ApiClient(`unix:${folder}/s.sock`);
    const stop = new AbortController();
    let open = (): Promise<Store> => Promise.reject(new StoreError('UNREACHABLE', 'notSent', 'nobody listens at 10.0.0.1:2379'));
    await using memory = new TestConsole();
    const context = { ...memory.context(), openStore: (_url: string, options: object = {}) => openStore(() => open(), options) };
    const listen = { path: `${folder}/s.sock` };
    const ends = serve({ store: 'redis://10.0.0.1', listen, member: 's1', election: 'e', drain: 100 }, context, stop.signal);
    const readiness = async (): Promise<readonly unknown[]> => {
      const { status, body } = await api.call('GET', '/readyz').catch(() => ({ status: 0, body: {} }));
      return [status, body];
    };
    const reason = 'the store is not open: a call to the store failed with UNREACHABLE, see the log';
    await expect
      .poll(readiness, PATIENT)
      .toEqual([503, { ready: false, reason, lease: 'idle', member: 's1', candidacies: 0, memberships: 0 }]);
    expect(await api.call('GET', '/healthz')).toMatchObject({ status: 200, body: { healthy: true, problems: [] } });
    expect((await api.call('GET', '/metrics')).status).toBe(200);
    expect((await api.call('GET', '/openapi.json')).status).toBe(200);
    const calls = [
      ['GET', '/'],
      ['GET', '/elections/e/leader'],
      ['GET', '/elections/e/events'],
      ['PUT', '/elections/e/candidacies/a'],
      ['GET', '/groups/g'],
    ] as const;
    for (const [method, path] of calls)
      expect(await api.call(method, path), path).toMatchObject({ status: 503, body: { code: 'UNREACHABLE', outcome: 'notSent' } });
    open = () => openMemory(`memory:${memory.name}`);
    await expect.poll(async () => (await api.call('GET', '/')).body['leads'], PATIENT).toBe(true);
    expect((await readiness())[0]).toBe(200);
    stop.abort();
    expect(await ends).toBe(0);
    await expect(api.call('GET', '/healthz')).rejects.toThrow('ENOENT');
  },
);

it('ends in order if it is stopped while it waits', { timeout: 60_000 }, async () => {
  const api = new ApiClient(`unix:${folder}/s.sock`);
  const stop = new AbortController();
  const context = new TestConsole().context();
  const away = (_url: string, options: object = {}): Promise<Store> =>
    openStore(() => Promise.reject(new StoreError('UNREACHABLE', 'notSent', 'nobody listens')), options);
  const options = { store: 'redis://10.0.0.1', listen: { path: `${folder}/s.sock` } };
  const ends = serve(options, { ...context, openStore: away }, stop.signal);
  const status = async (): Promise<number> => (await api.call('GET', '/healthz').catch(() => ({ status: 0 }))).status;
  await expect.poll(status, PATIENT).toBe(200);
  stop.abort();
  expect(await ends).toBe(0);
  await expect(api.call('GET', '/healthz')).rejects.toThrow('ENOENT');
});
