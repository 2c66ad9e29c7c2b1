/** A token in the wrong place is told to nobody. */

import { inspect } from 'node:util';
import { expect, it } from 'vitest';

import { openConsul } from '../src/index.ts';

it.each([
  ['in a parameter', 'consul://one?token=hunter2'],
  ['with a slash in it', 'consul://:hunter2/b@one:8500/app'],
  ['with a slash in it, and without its colon', 'consul://a/hunter2@one'],
  ['with a question mark in it', 'consul://:hunter2?b@one'],
  ['without a scheme', 'hunter2@one:8500'],
  ['in an endpoint', { endpoint: 'consul://:hunter2@one' }],
  ['as a key without its certificate', { endpoint: 'one', tls: { key: 'hunter2' } }],
])('%s', async (_, options) => {
  const error: unknown = await openConsul(options).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: 'INVALID_OPTION' });
  expect(inspect(error, { depth: 9 })).not.toContain('hunter2');
});
