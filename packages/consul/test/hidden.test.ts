/** A store that is printed shows nothing that lets one in. */

import { inspect } from 'node:util';

import { expect, it } from 'vitest';

import { Client } from '../src/http/client.ts';
import { readOptions } from '../src/options.ts';
import { ConsulStore } from '../src/store.ts';

it('shows neither its credentials nor those that another process ends its leases by', async () => {
  const marker = 'mKr7Qx2Zt9';
  const settings = await readOptions({ endpoint: 'a', token: marker, tls: { cert: 'x', key: marker } });
  await using store = new ConsulStore(new Client(settings), settings, 'ttl');
  const lease = '0b1f5d8e-0000-4000-8000-000000000000';
  const texts = [inspect(store), inspect(store, { depth: 10, showHidden: true }), JSON.stringify(store), inspect({ ...store.revocation })];
  expect(texts.filter((text) => text.includes(marker))).toEqual([]);
  expect(store.revocation?.access).toContain(marker);
  expect(store.revocation?.ticketOf(lease)).toBeUndefined();
});
