/** A store that is printed shows no secret. */

import { inspect } from 'node:util';

import { MARKER, showing } from '@incumbent/test-support/traces';
import { expect, it } from 'vitest';

import { createCalls } from '../src/open.ts';
import { readOptions } from '../src/options.ts';
import { PostgresStore } from '../src/store.ts';

it('a printed store shows neither its credentials nor those for the reaper', async () => {
  const settings = readOptions({
    endpoints: ['a'],
    credentials: { username: 'app', password: MARKER },
    tls: { cert: 'x', key: MARKER },
  });
  const calls = createCalls(settings);
  const { clock, access } = settings;
  await using store = new PostgresStore({ calls, clock, channel: 'c', weaknesses: [], access });
  const lease = '7';
  const texts = [inspect(store), inspect(store, { depth: 10, showHidden: true }), JSON.stringify(store), inspect({ ...store.revocation })];
  expect(showing(texts)).toEqual([]);
  expect(store.revocation?.access).toContain(MARKER);
  expect(store.revocation?.ticketOf(lease)).toBe(lease);
});
