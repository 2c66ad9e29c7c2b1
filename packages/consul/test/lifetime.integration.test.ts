/** What a store does to the life of its process, and what a process that dies leaves on its agent. */

import {
  requireStore,
  spawnScript,
  startConsul,
  startProxy,
  uniqueNamespace,
  type ConsulServer,
  type ScriptProcess,
} from '@incumbent/test-support';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { openConsul } from '../src/index.ts';
import { Operator } from './operator.ts';

const SCRIPT = new URL('scripts/lifetime.ts', import.meta.url);
const WAIT = { withinMs: 20_000 };

describe.runIf(await requireStore({ store: 'consul', own: true }))('a process', () => {
  let consul: ConsulServer;
  beforeAll(async () => {
    consul = await startConsul();
  });
  afterAll(() => consul.stop());

  function urlOf(server: { readonly url: string }, namespace: string = uniqueNamespace()): string {
    return `consul://${new URL(server.url).host}/${namespace}?watchWaitMs=1000`;
  }

  /** It ends by itself, and well. */
  async function endsByItself(script: ScriptProcess): Promise<void> {
    await script.waitFor('done', WAIT);
    expect(await script.exited).toBe(0);
    expect(script.events.filter(({ event }) => event === 'unhandled')).toEqual([]);
  }

  it('ends by itself though a lease and watches are open; the check that it leaves is removed at the next opening, when its time is over', async () => {
    const namespace = uniqueNamespace();
    const operator = new Operator(consul.url);
    await endsByItself(await spawnScript(SCRIPT, { args: [urlOf(consul, namespace), 'idle'] }));
    expect(await operator.checks(`incumbent ${namespace}`)).toBe(1);
    await operator.failChecks(`incumbent ${namespace}`);
    await using _store = await openConsul(urlOf(consul));
    expect(await operator.checks(`incumbent ${namespace}`)).toBe(0);
  });

  it('ends by itself though a watch looks for the agent', async () => {
    await using proxy = await startProxy(consul.url);
    const script = await spawnScript(SCRIPT, { args: [urlOf(proxy), 'orphaned'] });
    await script.waitFor('watching', WAIT);
    proxy.refuse();
    proxy.reset();
    await endsByItself(script);
  });

  it('lives until its calls have ended', async () => {
    await using proxy = await startProxy(consul.url);
    const script = await spawnScript(SCRIPT, { args: [urlOf(proxy), 'call'] });
    await script.waitFor('cut', WAIT);
    proxy.blackhole();
    await endsByItself(script);
    expect(script.events.map(({ event }) => event)).toContain('failed');
  });

  it('has nothing left of a store that was closed', async () => {
    const script = await spawnScript(SCRIPT, { args: [urlOf(consul), 'closed'] });
    await endsByItself(script);
    expect(script.events.find(({ event }) => event === 'left')).toMatchObject({ fields: { resources: [] } });
  });
});
