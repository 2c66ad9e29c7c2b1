/** What the fuzzer feeds to the readers of what users write: URLs of stores, and endpoints. */

import assert from 'node:assert/strict';

import type { FuzzTarget } from '@incumbent/test-support/fuzz';
import fc from 'fast-check';

import { endpointName, parseEndpoint, parseEndpoints } from '../../src/connect/endpoint.ts';
import { StoreUrl } from '../../src/options/store-url.ts';

const SECRET = 'hunter2';
const SHAPE = { schemes: ['redis'], secureSchemes: ['rediss'], parameters: ['db', 'mode'], example: 'redis://host/namespace' };
const utf8 = new TextEncoder();

const host = fc.oneof(fc.domain(), fc.ipV4(), fc.constantFrom('[::1]', 'localhost'));
const endpoint = fc
  .tuple(host, fc.option(fc.integer({ min: 0, max: 70_000 })))
  .map(([name, port]) => (port === null ? name : `${name}:${port}`));
const part = fc.oneof(fc.constantFrom('', 'a', 'my-app', 'a/b', '%2F', '%'), fc.string({ maxLength: 6 }));

function isInvalidOption(error: unknown): boolean {
  return (error instanceof TypeError || error instanceof RangeError) && 'code' in error && error.code === 'INVALID_OPTION';
}

/**
 * The text of a refusal shows no secret that stands once in the URL, after the scheme, and before
 * an @ or after a ?.
 */
function checkHidden(url: string, error: unknown): void {
  const at = url.indexOf(SECRET);
  const isSecret =
    at > url.indexOf('://') &&
    url.includes('://') &&
    at === url.lastIndexOf(SECRET) &&
    (url.indexOf('@', at) >= 0 || url.lastIndexOf('?', at) >= 0);
  if (!isSecret || !(error instanceof Error)) return;
  assert.ok(!`${error.message}${JSON.stringify(error)}`.includes(SECRET), 'the refusal shows the secret');
}

const storeUrls: FuzzTarget = {
  name: 'store-urls',
  inputs: fc
    .tuple(fc.constantFrom('redis', 'rediss', 'http'), part, fc.array(endpoint, { minLength: 1, maxLength: 3 }), part, part)
    .map(([scheme, user, hosts, namespace, query]) =>
      utf8.encode(`${scheme}://${user}:${SECRET}@${hosts.join(',')}/${namespace}?db=1&mode=${query}`),
    ),
  words: [SECRET, '://', '@', ':', '/', '?', '#', '&', 'db=', 'mode=', 'ca=', 'rediss://', '%40', '%zz', ','],
  read: (input) => {
    const text = new TextDecoder().decode(input);
    try {
      const url = new StoreUrl(text, SHAPE);
      for (const read of [
        () => url.user,
        () => url.number('db'),
        () => url.oneOf('mode', ['a', 'b']),
        () => parseEndpoints(url.hosts, 1),
      ]) {
        try {
          read();
        } catch (error) {
          checkHidden(text, error);
          if (!isInvalidOption(error)) throw error;
        }
      }
    } catch (error) {
      checkHidden(text, error);
      throw error;
    }
  },
  isRefusal: isInvalidOption,
};

const endpoints: FuzzTarget = {
  name: 'endpoints',
  inputs: fc.array(endpoint, { minLength: 1, maxLength: 4 }).map((all) => utf8.encode(all.join(','))),
  words: [':', '[', ']', '::', '65536', '0', '@', '://'],
  read: (input) => {
    const all = parseEndpoints(new TextDecoder().decode(input).split(','), 80);
    for (const one of all) assert.deepEqual(parseEndpoint(endpointName(one), 81), one);
  },
  isRefusal: isInvalidOption,
};

export const targets: readonly FuzzTarget[] = [storeUrls, endpoints];
