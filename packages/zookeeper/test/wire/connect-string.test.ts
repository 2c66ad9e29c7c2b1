import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { endpointName, parseConnectString, parseEndpoints } from '../../src/wire/connect-string.ts';

describe('a connect string', () => {
  it('has servers and a chroot', () => {
    expect(parseConnectString('a:1,b.example.org,[::1]:3/x/y')).toEqual({
      endpoints: [
        { host: 'a', port: 1 },
        { host: 'b.example.org', port: 2181 },
        { host: '::1', port: 3 },
      ],
      chroot: '/x/y',
    });
  });

  it('may do without a chroot', () => {
    expect(parseConnectString('a')).toEqual({ endpoints: [{ host: 'a', port: 2181 }], chroot: '' });
    expect(parseConnectString('a/').chroot).toBe('');
  });

  it.each([
    ['', 'endpoint'],
    ['a:0', 'endpoint'],
    ['a:65536', 'endpoint'],
    ['a:x', 'endpoint'],
    ['::1', 'endpoint'],
    ['zookeeper://a:1', 'endpoint'],
    ['a,', 'endpoint'],
    ['a,b,a:2181', 'endpoints'],
    ['a/x/', 'chroot'],
    ['a//x', 'chroot'],
    ['a/x/../y', 'chroot'],
    ['a/x\u0000', 'chroot'],
  ])('%j is refused by what is wrong with it', (text, option) => {
    expect(() => parseConnectString(text)).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION', details: expect.objectContaining({ option }) }),
    );
  });

  it('of servers as objects has the same rules', () => {
    expect(parseEndpoints(['a:1', 'b'])).toHaveLength(2);
    for (const none of [[], 'a', undefined, [1]])
      expect(() => parseEndpoints(none)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
  });

  it('is read or refused, whatever it is, and what was read is written as it was', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[a-c:,/[\]0-9.]*$/)), (text) => {
        try {
          const { endpoints, chroot } = parseConnectString(text);
          const again = parseConnectString(endpoints.map(endpointName).join(',') + chroot);
          expect(again).toEqual({ endpoints, chroot });
        } catch (error) {
          expect(error).toMatchObject({ code: 'INVALID_OPTION' });
        }
      }),
      { numRuns: 1_000 },
    );
  });
});
