import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { endpointName, parseEndpoint, parseEndpoints, startingAt } from '@incumbent/network';

function refuses(option: string) {
  return expect.objectContaining({ code: 'INVALID_OPTION', details: expect.objectContaining({ option }) });
}

describe('an endpoint', () => {
  it.each([
    ['a', { host: 'a', port: 7 }],
    ['a:1', { host: 'a', port: 1 }],
    ['b.example.org:65535', { host: 'b.example.org', port: 65_535 }],
    ['[::1]', { host: '::1', port: 7 }],
    ['[::1]:3', { host: '::1', port: 3 }],
  ])('%s', (text, endpoint) => {
    expect(parseEndpoint(text, 7)).toEqual(endpoint);
  });

  it.each(['', 'a:0', 'a:65536', 'a:x', '::1', 'http://a:1', 'a/b', 'a,b', 1, undefined])('is refused as %j', (text) => {
    expect(() => parseEndpoint(text, 7)).toThrow(refuses('endpoint'));
  });

  it('does not show the password of a URL that was given as an endpoint', () => {
    expect(() => parseEndpoint('http://user:secret@a', 7)).toThrow(
      expect.not.objectContaining({ message: expect.stringContaining('secret') }),
    );
  });

  it('is parsed or refused, for any text; a parsed one is formatted as it was given', () => {
    const texts = fc.oneof(fc.string(), fc.stringMatching(/^[a-c:[\]0-9.]*$/));
    fc.assert(
      fc.property(texts, (text) => {
        try {
          const endpoint = parseEndpoint(text, 7);
          expect(parseEndpoint(endpointName(endpoint), 9)).toEqual(endpoint);
        } catch (error) {
          expect(error).toMatchObject({ code: 'INVALID_OPTION' });
        }
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('endpoints', () => {
  it('must be at least one', () => {
    expect(parseEndpoints(['a:1', 'b'], 7)).toEqual([
      { host: 'a', port: 1 },
      { host: 'b', port: 7 },
    ]);
    for (const none of [[], 'a', undefined]) expect(() => parseEndpoints(none, 7)).toThrow(refuses('endpoints'));
    expect(() => parseEndpoints([1], 7)).toThrow(refuses('endpoint'));
  });

  it('must differ from one another', () => {
    expect(() => parseEndpoints(['a', 'b', 'a:7'], 7)).toThrow(refuses('endpoints'));
  });
});

it('a list of servers can begin with another one', () => {
  expect([0, 1, 2].map((index) => startingAt(['a', 'b', 'c'], index).join(''))).toEqual(['abc', 'bca', 'cab']);
});
