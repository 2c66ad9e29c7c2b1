/** A store that is printed shows no secret. */

import { inspect } from 'node:util';

import { ManualClock } from '@incumbent/memory';
import { MARKER, showing } from '@incumbent/test-support/traces';
import { expect, it } from 'vitest';

import { clientOptionsOf, readOptions } from '../src/options.ts';
import { Namespace } from '../src/namespace.ts';
import { ZookeeperStore } from '../src/store.ts';
import { openClient } from '../src/client/client.ts';
import { FakeServer } from './support/fake-server.ts';

it('shows neither its credentials nor the tickets that end its leases', async () => {
  const credentials = { username: 'app', password: MARKER };
  const settings = readOptions({ endpoints: ['a'], credentials, tls: { cert: 'x', key: MARKER } });
  const [clock, server] = [new ManualClock(), new FakeServer()];
  const options = { ...clientOptionsOf(settings), clock, connect: () => server.accept() };
  const client = await clock.run(openClient(options, { timeoutMs: 1_000 }));
  const parts = { ...settings, clock, namespace: new Namespace('/ns'), minTtlMs: 1, maxTtlMs: 2 };
  const store = new ZookeeperStore(client, parts);
  const lease = '7';
  const texts = [inspect(store), inspect(store, { depth: 10, showHidden: true }), JSON.stringify(store), inspect({ ...store.revocation })];
  expect(showing(texts)).toEqual([]);
  expect(store.revocation?.access).toContain(MARKER);
  expect(store.revocation?.ticketOf(lease)).toBeUndefined();
  await clock.run(store.close());
});
