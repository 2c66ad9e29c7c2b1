/** Neither a printed store nor an error shows a credential. */

import { inspect } from 'node:util';

import { MARKER, showing } from '@incumbent/test-support/traces';
import { expect, it } from 'vitest';

import { Client } from '../src/client/client.ts';
import { openConsul } from '../src/index.ts';
import { readOptions } from '../src/options.ts';
import { ConsulStore } from '../src/store.ts';

it('a printed store shows neither its credentials nor those for the revoker', async () => {
  const settings = readOptions({ endpoint: 'a', token: MARKER, tls: { cert: 'x', key: MARKER } });
  await using store = new ConsulStore(new Client(settings), settings, { bound: 'ttl' });
  const lease = '0b1f5d8e-0000-4000-8000-000000000000';
  const texts = [inspect(store), inspect(store, { depth: 10, showHidden: true }), JSON.stringify(store), inspect({ ...store.revocation })];
  expect(showing(texts)).toEqual([]);
  expect(store.revocation?.access).toContain(MARKER);
  expect(store.revocation?.ticketOf(lease)).toBeUndefined();
});

it.each([
  ['in a parameter', 'consul://one?token=hunter2'],
  ['with a slash in it', 'consul://:hunter2/b@one:8500/app'],
  ['with a slash in it, and without its colon', 'consul://a/hunter2@one'],
  ['with a question mark in it', 'consul://:hunter2?b@one'],
  ['without a scheme', 'hunter2@one:8500'],
  ['in an endpoint', { endpoint: 'consul://:hunter2@one' }],
  ['as a key without its certificate', { endpoint: 'one', tls: { key: 'hunter2' } }],
])('the error for a token %s does not contain the token', async (_, options) => {
  const error: unknown = await openConsul(options).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: 'INVALID_OPTION' });
  expect(inspect(error, { depth: 9 })).not.toContain('hunter2');
});
