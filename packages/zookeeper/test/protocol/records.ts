/** Arbitrary records, and hex. */

import fc from 'fast-check';

import type { Stat } from '../../src/protocol/nodes.ts';

export const int32: fc.Arbitrary<number> = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
export const int64: fc.Arbitrary<bigint> = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
export const bytes: fc.Arbitrary<Uint8Array> = fc.uint8Array({ maxLength: 200 });
export const text: fc.Arbitrary<string> = fc.string({ unit: 'grapheme' });

export const stat: fc.Arbitrary<Stat> = fc.record({
  czxid: int64,
  mzxid: int64,
  version: int32,
  cversion: int32,
  ephemeralOwner: int64,
  dataLength: int32,
  numChildren: int32,
  pzxid: int64,
});

export function hex(digits: string): Uint8Array {
  return new Uint8Array(Buffer.from(digits, 'hex'));
}
