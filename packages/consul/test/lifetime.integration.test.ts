/** Whether a store keeps its process alive, and what a process that dies leaves on its agent. */

import { requireStore, spawnScript, startConsul, uniqueNamespace } from '@incumbent/test-support';
import { endsByItself, lifetimeTests } from '@incumbent/test-support/lifetime-suite';
import { describe, expect, it } from 'vitest';

import { openConsul } from '../src/index.ts';
import { Operator } from './operator.ts';

const SCRIPT = new URL('scripts/lifetime.ts', import.meta.url);

function urlOf(url: string, ca?: string, namespace: string = uniqueNamespace()): string {
  const rest = `${new URL(url).host}/${namespace}?watchWaitMs=1000`;
  return ca === undefined ? `consul://${rest}` : `consuls://${rest}&ca=${encodeURIComponent(ca)}`;
}

describe.runIf(await requireStore({ store: 'consul', own: true }))('a process', () => {
  lifetimeTests({ script: SCRIPT, start: startConsul, startSecure: () => startConsul({ tls: 'server' }), urlOf });

  it('leaves the check of its lease, which the next opening removes when the check is critical', async () => {
    await using consul = await startConsul();
    const namespace = uniqueNamespace();
    const operator = new Operator(consul.url);
    await using script = await spawnScript(SCRIPT, { args: [urlOf(consul.url, undefined, namespace), 'idle'] });
    await endsByItself(script);
    expect(await operator.checks(`incumbent ${namespace}`)).toBe(1);
    await operator.failChecks(`incumbent ${namespace}`);
    await using _store = await openConsul(urlOf(consul.url));
    expect(await operator.checks(`incumbent ${namespace}`)).toBe(0);
  });
});
