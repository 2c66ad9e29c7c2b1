/** What a store does to the life of its process. */

import { requireStore, startRedis, spawnScript, startProxy, type RedisServer, type ScriptProcess } from '@incumbent/test-support';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const hostOf = (url: string): string => new URL(url).host;

const SCRIPT = new URL('scripts/lifetime.ts', import.meta.url);

describe.runIf(await requireStore({ store: 'redis', own: true }))('a process', () => {
  let redis: RedisServer;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.stop());

  function start(mode: string, host: string = hostOf(redis.url)): Promise<ScriptProcess> {
    return spawnScript(SCRIPT, { args: [`redis://${host}/lifetime`, mode] });
  }

  /** It ends by itself, well, and within a second of having nothing to do. */
  async function endsByItself(script: ScriptProcess): Promise<void> {
    const done = await script.waitFor('done', { withinMs: 10_000 });
    expect(await script.exited).toBe(0);
    expect(Number(process.hrtime.bigint() - done.at) / 1e6).toBeLessThan(1_000);
    expect(script.events.filter(({ event }) => ['unhandled', 'warning', 'threw'].includes(event))).toEqual([]);
  }

  it('ends by itself though a store is open', async () => {
    await endsByItself(await start('idle'));
  });

  it('ends by itself though watches are open', async () => {
    const script = await start('watches');
    await endsByItself(script);
    expect(script.events.some(({ event }) => event === 'state')).toBe(true);
  });

  it('ends by itself though watches are open by TLS', async () => {
    await using secure = await startRedis({ tls: 'server' });
    const url = `rediss://${hostOf(secure.url)}/lifetime?ca=${encodeURIComponent(secure.tls?.ca ?? '')}`;
    const script = await spawnScript(SCRIPT, { args: [url, 'watches'] });
    await endsByItself(script);
    expect(script.events.some(({ event }) => event === 'state')).toBe(true);
  });

  it('ends by itself though watches look for a server that does not answer', async () => {
    await using proxy = await startProxy(redis.url);
    const script = await start('orphaned', hostOf(proxy.url));
    await script.waitFor('state', { withinMs: 5_000 });
    proxy.reset();
    proxy.blackhole();
    await endsByItself(script);
    expect(script.events.some(({ event }) => event === 'stale')).toBe(true);
  });

  it('lives until a call has ended, and no longer', async () => {
    await using proxy = await startProxy(redis.url);
    const script = await start('call', hostOf(proxy.url));
    await script.waitFor('open', { withinMs: 10_000 });
    proxy.blackhole();
    const failed = await script.waitFor('failed', { withinMs: 5_000 });
    expect(failed.fields['error']).toContain('no answer within 1000 ms');
    expect(await script.exited).toBe(0);
    expect(Number(process.hrtime.bigint() - failed.at) / 1e6).toBeLessThan(1_000);
  });

  it('has nothing left of a store that was closed, whatever was under way: no timer, no socket', async () => {
    const script = await start('closed');
    const done = await script.waitFor('done', { withinMs: 10_000 });
    expect(done.fields['left']).toEqual([]);
    await script.exited;
    expect(script.events.filter(({ event }) => ['unhandled', 'warning'].includes(event))).toEqual([]);
    expect(script.events.find(({ event }) => event === 'threw')?.fields['error']).toContain('the store was closed');
  });

  it('is told of what is left: the same look finds the socket and the timers of a store that is open', async () => {
    const script = await start('watches');
    const done = await script.waitFor('done', { withinMs: 10_000 });
    expect(done.fields['left']).toEqual(expect.arrayContaining(['TCPWRAP', 'Timeout']));
    await script.exited;
  });
});
