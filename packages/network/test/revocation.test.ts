import { inspect } from 'node:util';

import { expect, it } from 'vitest';

import { revocationOf } from '../src/index.ts';

it('a revocation does not show the access and tickets with which another process revokes leases', () => {
  const revocation = revocationOf('file:///a/store.js', '{"password":"secret"}', {
    ticketOf: (lease) => (lease === 'gone' ? undefined : `secret ${lease}`),
  });
  expect(revocation).toMatchObject({ module: 'file:///a/revoker.js', access: '{"password":"secret"}', renews: false });
  expect([revocation?.ticketOf('7'), revocation?.ticketOf('gone')]).toEqual(['secret 7', undefined]);
  expect(JSON.stringify({ revocation, ...revocation })).toBe(
    '{"revocation":{"module":"file:///a/revoker.js","renews":false},"module":"file:///a/revoker.js","renews":false}',
  );
  expect(inspect(revocation, { depth: 10, showHidden: true, getters: true })).not.toContain('secret');
});

it('the ticket of a lease is its id, unless the store says otherwise', () => {
  const revocation = revocationOf('file:///a/store.js', '{}', { renews: true });
  expect([revocation?.ticketOf('7'), revocation?.renews]).toEqual(['7', true]);
});

it('there is no revocation if no other process can open the store', () => {
  expect(revocationOf('file:///a/store.js', undefined)).toBeUndefined();
});

it('there is no revocation in a CommonJS bundle, where import.meta has no url', () => {
  expect(revocationOf(undefined, '{}')).toBeUndefined();
});
