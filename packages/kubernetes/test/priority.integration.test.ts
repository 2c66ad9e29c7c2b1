import { startKubernetes } from '@incumbent/test-support';
import { describeOnServer } from '@incumbent/test-support/server-suite';
import { expect, it } from 'vitest';

import { openKubernetes } from '../src/index.ts';
import { LEASES, collectionPath } from '../src/names.ts';
import { fields } from '../src/objects/json.ts';
import { KEYS } from './harness.ts';

await describeOnServer('the priority, on the real API server', { store: 'kubernetes', start: () => startKubernetes() }, (server) => {
  it('is none without priority and fairness, and no lease is created to find it', async () => {
    const { url, ca, tokens } = server();
    await using store = await openKubernetes({ server: url, token: tokens.admin, tls: { ca }, prefix: 'priority', keysResource: KEYS });
    const report = await store.inspect?.();
    expect(report?.facts).toContainEqual({ what: 'priority', detail: 'none: the API server puts requests into no priority level' });
    const { body } = await server().call('GET', collectionPath('default', LEASES));
    expect(fields(body)['items']).toEqual([]);
  });
});
