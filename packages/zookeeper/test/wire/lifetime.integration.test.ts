/** What a client does to the life of its process. */

import { requireStore, spawnScript, startProxy, startZookeeper, type ScriptProcess, type ZookeeperServer } from '@incumbent/test-support';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const SCRIPT = new URL('scripts/lifetime.ts', import.meta.url);

describe.runIf(await requireStore({ store: 'zookeeper', own: true }))('a process', () => {
  let server: ZookeeperServer;
  beforeAll(async () => {
    server = await startZookeeper();
  });
  afterAll(() => server.stop());

  /** It ends by itself, and well. */
  async function endsByItself(script: ScriptProcess): Promise<void> {
    await script.waitFor('done', { withinMs: 20_000 });
    expect(await script.exited).toBe(0);
    expect(script.events.filter(({ event }) => event === 'unhandled')).toEqual([]);
  }

  it('ends by itself though sessions and watches are open', async () => {
    await endsByItself(await spawnScript(SCRIPT, { args: [server.url, 'idle'] }));
  });

  it('ends by itself though a session looks for a server', async () => {
    await using proxy = await startProxy(server.url);
    const script = await spawnScript(SCRIPT, { args: [proxy.url, 'orphaned'] });
    await script.waitFor('watching', { withinMs: 20_000 });
    proxy.refuse();
    proxy.reset();
    await endsByItself(script);
  });

  it('lives until its calls have ended', async () => {
    await using proxy = await startProxy(server.url);
    const script = await spawnScript(SCRIPT, { args: [proxy.url, 'call'] });
    await script.waitFor('cut', { withinMs: 20_000 });
    proxy.blackhole();
    await endsByItself(script);
    expect(script.events.map(({ event }) => event)).toContain('failed');
  });

  it('has nothing left of a client that was closed', async () => {
    const script = await spawnScript(SCRIPT, { args: [server.url, 'closed'] });
    await endsByItself(script);
    expect(script.events.find(({ event }) => event === 'left')).toMatchObject({ fields: { resources: [] } });
  });
});
