/** A store that is printed shows nothing that lets one in. */

import { inspect } from 'node:util';

import { MARKER, showing } from '@incumbent/test-support/traces';
import { expect, it } from 'vitest';

import { clientOf } from '../src/client/client.ts';
import { readOptions } from '../src/options.ts';
import { EtcdStore } from '../src/store.ts';

it('shows neither its credentials nor those with which another process can revoke its leases', async () => {
  const settings = readOptions({
    endpoints: ['a'],
    credentials: { username: 'app', password: MARKER },
    tls: { cert: 'x', key: MARKER },
  });
  await using store = new EtcdStore(clientOf(settings), settings, '3.5.0');
  const lease = '7';
  const texts = [inspect(store), inspect(store, { depth: 10, showHidden: true }), JSON.stringify(store), inspect({ ...store.revocation })];
  expect(showing(texts)).toEqual([]);
  expect(store.revocation?.access).toContain(MARKER);
  expect(store.revocation?.ticketOf(lease)).toBe(lease);
});
