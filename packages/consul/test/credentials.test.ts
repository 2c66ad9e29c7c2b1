/** A store that is printed shows nothing that lets one in. */

import { inspect } from 'node:util';

import { MARKER, showing } from '@incumbent/test-support/traces';
import { expect, it } from 'vitest';

import { Client } from '../src/client/client.ts';
import { readOptions } from '../src/options.ts';
import { ConsulStore } from '../src/store.ts';

it('shows neither its credentials nor those that another process ends its leases by', async () => {
  const settings = await readOptions({ endpoint: 'a', token: MARKER, tls: { cert: 'x', key: MARKER } });
  await using store = new ConsulStore(new Client(settings), settings, 'ttl');
  const lease = '0b1f5d8e-0000-4000-8000-000000000000';
  const texts = [inspect(store), inspect(store, { depth: 10, showHidden: true }), JSON.stringify(store), inspect({ ...store.revocation })];
  expect(showing(texts)).toEqual([]);
  expect(store.revocation?.access).toContain(MARKER);
  expect(store.revocation?.ticketOf(lease)).toBeUndefined();
});
