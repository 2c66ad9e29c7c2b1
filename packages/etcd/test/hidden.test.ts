/** A store that is printed shows nothing that lets one in. */

import { inspect } from 'node:util';

import { expect, it } from 'vitest';

import { clientOf } from '../src/client.ts';
import { readOptions } from '../src/options.ts';
import { EtcdStore } from '../src/store.ts';

it('shows neither its credentials nor those that another process ends its leases by', async () => {
  const marker = 'mKr7Qx2Zt9';
  const settings = await readOptions({
    endpoints: ['a'],
    credentials: { username: 'app', password: marker },
    tls: { cert: 'x', key: marker },
  });
  await using store = new EtcdStore(clientOf(settings), settings, '3.5.0');
  const lease = '7';
  const texts = [inspect(store), inspect(store, { depth: 10, showHidden: true }), JSON.stringify(store), inspect({ ...store.revocation })];
  expect(texts.filter((text) => text.includes(marker))).toEqual([]);
  expect(store.revocation?.access).toContain(marker);
  expect(store.revocation?.ticketOf(lease)).toBe(lease);
});
