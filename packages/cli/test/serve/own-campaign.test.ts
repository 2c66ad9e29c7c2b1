/** How `incumbent serve --election` ends if it cannot campaign on behalf of its application. */

import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { type Store, StoreError } from '@incumbent/core';
import { MemoryServer } from '@incumbent/memory';
import { listenAnywhere } from '@incumbent/test-support';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { type CommandResult, TestConsole } from '../support/test-console.ts';
import { ApiClient } from './api-client.ts';

let folder: string;
let api: ApiClient;
/** The application, which is healthy after it has done this. */
let atCheck: () => Promise<unknown>;
let application: Server;
let health: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'own-campaign-'));
  api = new ApiClient(`unix:${folder}/s.sock`);
  atCheck = () => Promise.resolve();
  application = createServer((_request, response) => void atCheck().then(() => response.end()));
  health = `http://127.0.0.1:${(await listenAnywhere(application)).port}`;
});
afterEach(async () => {
  application.closeAllConnections();
  application.close();
  await rm(folder, { recursive: true });
});

async function serve(store: Store, ...options: readonly string[]): Promise<CommandResult> {
  const line = ['serve', '--listen', `unix:${folder}/s.sock`, '--member', 's1', '--drain', '100ms', ...options];
  // The command refuses the URL of a store in memory.
  return new TestConsole().run(line, { env: { INCUMBENT_STORE: 'redis://127.0.0.1' }, open: () => Promise.resolve(store) });
}

describe('a campaign of the sidecar itself', () => {
  it.each([
    ['on a weak store', false, 'reports', 'pass --accept-weak-store memory'],
    ['with an invalid name', true, 'a b', 'election is "a b"'],
  ])('%s ends the command', async (_what, linearizable, election, message) => {
    for (const more of [[], ['--health', health]]) {
      const { code, err } = await serve(new MemoryServer({ linearizable }).connect(), '--election', election, ...more);
      expect([code, err]).toEqual([2, expect.stringContaining(message)]);
      expect(err).not.toContain('serves');
    }
  });

  it('that cannot begin when the application is healthy ends the command, which then listens no more', async () => {
    atCheck = () => api.call('PUT', '/elections/reports/candidacies/s1');
    const { code, err } = await serve(new MemoryServer().connect(), '--election', 'reports', '--health', health);
    expect([code, err]).toEqual([3, expect.stringContaining('has a candidacy "s1"')]);
    await expect(api.call('GET', '/healthz')).rejects.toThrow('ENOENT');
  });

  it.each(['at once', 'when the application is healthy'])(
    'that begins %s, and that the store refuses for good, ends the command',
    async (begins) => {
      const refused = new StoreError('UNAUTHENTICATED', 'refused', 'the password is wrong');
      const store = Object.assign(new MemoryServer().connect(), { grantLease: () => Promise.reject(refused) });
      const more = begins === 'at once' ? [] : ['--health', health];
      const { code, err } = await serve(store, '--election', 'reports', ...more);
      expect([code, err]).toEqual([3, expect.stringContaining('incumbent: UNAUTHENTICATED: the password is wrong\n')]);
      expect(err.match(/the password is wrong/g)).toHaveLength(1);
      await expect(api.call('GET', '/healthz')).rejects.toThrow('ENOENT');
    },
  );
});
