/** A store's effect on the life of its process: one suite for every store that has a server. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { hostOf } from '../ports.ts';
import { spawnScript, type ScriptProcess } from '../processes.ts';
import { startProxy } from '../proxy.ts';
import { requireStore, type RequiredStore } from '../servers/require.ts';
import type { OwnServer } from '../servers/types.ts';

export interface Lifetime {
  /** The store's script, which calls `live`. */
  readonly script: URL;
  start(): Promise<OwnServer>;
  /** Starts a server with TLS that requires no client certificate. */
  startSecure(): Promise<OwnServer>;
  /** The store's URL for a server at this URL. Given a file of certificates, with TLS. */
  urlOf(url: string, ca?: string): string;
}

const WAIT = { withinMs: 30_000 };
const TROUBLE = ['unhandled', 'warning', 'outlived'];

/** Expects the process to end by itself, successfully, as soon as it has nothing to do. */
export async function endsByItself(script: ScriptProcess): Promise<void> {
  await script.waitFor('done', WAIT);
  expect(await script.exited).toBe(0);
  expect(script.events.filter(({ event }) => [...TROUBLE, 'threw'].includes(event))).toEqual([]);
}

/**
 * Defines the tests. Call it inside a `describe`. Returns a function that starts the script on the
 * suite's server.
 */
export function lifetimeTests({ script: file, start, startSecure, urlOf }: Lifetime): (mode: string) => Promise<ScriptProcess> {
  let server: OwnServer;
  beforeAll(async () => {
    server = await start();
  });
  afterAll(() => server.stop());

  const spawn = (mode: string, url: string = urlOf(server.url)): Promise<ScriptProcess> => spawnScript(file, { args: [url, mode] });
  const states = (script: ScriptProcess): number => script.events.filter(({ event }) => event === 'state').length;

  it('ends by itself though a lease is held and the store is open', async () => {
    await using script = await spawn('idle');
    await endsByItself(script);
  });

  it('ends by itself though watches are open', async () => {
    await using script = await spawn('watches');
    await endsByItself(script);
    expect(states(script)).toBeGreaterThan(0);
  });

  it('ends by itself though watches are open by TLS', async () => {
    await using secure = await startSecure();
    await using script = await spawn('watches', urlOf(secure.url, secure.tls?.ca ?? ''));
    await endsByItself(script);
    expect(states(script)).toBeGreaterThan(0);
  });

  it('ends by itself though watches look for a server that does not answer', async () => {
    await using proxy = await startProxy(server.url);
    await using script = await spawn('orphaned', urlOf(proxy.url));
    await script.waitFor('state', WAIT);
    proxy.blackhole();
    proxy.reset();
    await endsByItself(script);
    expect(script.events.map(({ event }) => event)).toContain('stale');
  });

  it('lives until a call has ended, and no longer', async () => {
    await using proxy = await startProxy(server.url);
    await using script = await spawn('call', urlOf(proxy.url));
    await script.waitFor('open', WAIT);
    proxy.blackhole();
    const failed = await script.waitFor('failed', WAIT);
    expect(failed.fields['error']).toMatch(/within \d+ ms/);
    expect(await script.exited).toBe(0);
    expect(script.events.map(({ event }) => event)).not.toContain('outlived');
  });

  it('has nothing left of a store that was closed, whatever was under way: no timer, no socket', async () => {
    await using script = await spawn('closed');
    const done = await script.waitFor('done', WAIT);
    expect(done.fields['left']).toEqual([]);
    await script.exited;
    expect(script.events.filter(({ event }) => TROUBLE.includes(event))).toEqual([]);
    expect(script.events.find(({ event }) => event === 'threw')?.fields['error']).toMatch(/the (?:\w+ )?store was closed/);
  });

  it('is told of what is left: the same look finds the socket and the timers of a store that is open', async () => {
    await using script = await spawn('watches');
    const done = await script.waitFor('done', WAIT);
    expect(done.fields['left']).toEqual(expect.arrayContaining(['TCPWRAP', 'Timeout']));
    await script.exited;
  });

  return spawn;
}

/**
 * {@link lifetimeTests} of a store with URLs like `etcd://host:port/namespace`, and `etcds:` for
 * TLS.
 */
export async function describeLifetime(
  store: RequiredStore['store'],
  start: (options?: { readonly tls: 'server' }) => Promise<OwnServer>,
  script: URL,
): Promise<void> {
  describe.runIf(await requireStore({ store, own: true }))('a process', () => {
    lifetimeTests({
      script,
      start,
      startSecure: () => start({ tls: 'server' }),
      urlOf: (url, ca) =>
        ca === undefined ? `${store}://${hostOf(url)}/lifetime` : `${store}s://${hostOf(url)}/lifetime?ca=${encodeURIComponent(ca)}`,
    });
  });
}
