/** Packets, and other bytes that may arrive in their place. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { quorum } from '../../src/index.ts';
import { decodePacket, encodePacket } from '../../src/tcp/codec.ts';
import { CONTENT_BYTES } from '../../src/tcp/connection.ts';

const plain = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.string({ unit: 'binary' }),
    fc.bigInt({ min: -(2n ** 64n), max: 2n ** 64n }),
    fc.boolean(),
    fc.double({ noNaN: true, noDefaultInfinity: true }).filter((number) => !Object.is(number, -0)),
    fc.array(tie('value'), { maxLength: 5 }),
    fc.dictionary(fc.string(), tie('value'), { maxKeys: 5, noNullPrototype: true }),
  ),
})).value;

const packet = fc.record({ election: fc.string(), configuration: fc.string(), message: plain }, { noNullPrototype: true });
const vote = { type: 'vote', term: 7n, byHandover: false, position: { lastTerm: 2n ** 63n - 1n, lastIndex: 0n } };

describe('a packet', () => {
  it('is decoded as it was encoded', () => {
    fc.assert(
      fc.property(packet, (one) => {
        expect(decodePacket(encodePacket(one))).toEqual(one);
      }),
      { numRuns: 1_000 },
    );
  });

  it('cannot be decoded from other bytes, and the decoder never throws', () => {
    const mutation = fc.tuple(fc.nat(), fc.nat(255), fc.constantFrom('set', 'insert', 'delete', 'cut'));
    fc.assert(
      fc.property(packet, fc.array(mutation, { minLength: 1, maxLength: 6 }), (one, mutations) => {
        const bytes = [...encodePacket(one)];
        for (const [at, byte, how] of mutations) {
          const i = at % (bytes.length + 1);
          if (how === 'set') bytes[i] = byte;
          else bytes.splice(i, how === 'insert' ? 0 : how === 'delete' ? 1 : bytes.length, ...(how === 'insert' ? [byte] : []));
        }
        const read = decodePacket(Uint8Array.from(bytes));
        if (read !== undefined) expect(decodePacket(encodePacket(read))).toEqual(read);
        // The algorithm decides whether well-formed data are a message. It must not throw either.
        quorum({ members: ['a'] }).readMessage(read?.message);
      }),
      { numRuns: 3_000 },
    );
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(decodePacket(bytes)).toBeUndefined();
      }),
      { numRuns: 3_000 },
    );
  });

  it('is refused if it is too deep, or has invalid numbers or untagged strings', () => {
    const around = (message: string): Buffer => Buffer.from(`{"election":"e","configuration":"c","message":${message}}`);
    expect(decodePacket(around('"sa"'))).toEqual({ election: 'e', configuration: 'c', message: 'a' });
    expect(decodePacket(around('-0'))?.message).toBe(0);
    expect(decodePacket(around('{"__proto__":{"isAdmin":true}}'))?.message).not.toHaveProperty('isAdmin');
    for (const message of [
      '"a"',
      '"n"',
      '"n1.5"',
      '"n 1"',
      `"n${'1'.repeat(41)}"`,
      'null',
      '1e999',
      `${'['.repeat(10)}${']'.repeat(10)}`,
      '"\u{d800}"',
    ])
      expect(decodePacket(around(message)), message).toBeUndefined();
    expect(decodePacket(Buffer.from('{"election":"e","configuration":"c"}'))).toBeUndefined();
    expect(decodePacket(Buffer.from([0x22, 0xc3, 0x28, 0x22]))).toBeUndefined();
    expect(decodePacket(Buffer.from('['.repeat(CONTENT_BYTES)))).toBeUndefined();
  });

  it('of the largest possible group fits into a frame', () => {
    const members = Array.from({ length: 15 }, (_, i) => String(i).padStart(128, 'm'));
    const { configuration } = quorum({ members, tieBreak: 'highest-rank' });
    expect(encodePacket({ election: 'e'.repeat(128), configuration, message: vote }).length).toBeLessThan(CONTENT_BYTES / 2);
  });

  it('is made of plain data only', () => {
    for (const message of [null, undefined, NaN, Symbol('s'), () => {}, { deep: [[[[[[[[[1]]]]]]]]] }])
      expect(() => encodePacket({ election: 'e', configuration: 'c', message })).toThrow(TypeError);
    expect(decodePacket(encodePacket({ election: 'e', configuration: 'c', message: { a: undefined, b: 1 } }))?.message).toEqual({ b: 1 });
  });
});
