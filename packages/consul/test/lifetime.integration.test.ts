/** Whether a store keeps its process alive. */

import { requireStore, startConsul, uniqueNamespace } from '@incumbent/test-support';
import { lifetimeTests } from '@incumbent/test-support/lifetime-suite';
import { describe } from 'vitest';

const SCRIPT = new URL('scripts/lifetime.ts', import.meta.url);

function urlOf(url: string, ca?: string): string {
  const rest = `${new URL(url).host}/${uniqueNamespace()}?watchWaitMs=1000`;
  return ca === undefined ? `consul://${rest}` : `consuls://${rest}&ca=${encodeURIComponent(ca)}`;
}

describe.runIf(await requireStore({ store: 'consul', own: true }))('a process', () => {
  lifetimeTests({ script: SCRIPT, start: startConsul, startSecure: () => startConsul({ tls: 'server' }), urlOf });
});
