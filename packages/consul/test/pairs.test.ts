import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { pairFrom, pairOf } from '../src/protocol/kv.ts';

const PLACE = { CreateIndex: 5, ModifyIndex: 7 };
const LONG = Buffer.alloc(20_000, 'ab"c').toString('base64');

const bytesOf = (json: string): Uint8Array => new TextEncoder().encode(json);

describe('a pair', () => {
  it('is read from its bytes as from its JSON, whatever its value and its key are, with and without spaces', () => {
    const value = fc.oneof(fc.uint8Array({ maxLength: 50 }), fc.uint8Array({ minLength: 3_000, maxLength: 30_000 }));
    fc.assert(
      fc.property(value, fc.string(), fc.option(fc.constant(4), { nil: undefined }), (bytes, Key, spaces) => {
        const pair = { Key, Session: 'a session', Value: Buffer.from(bytes).toString('base64'), ...PLACE };
        const read = pairFrom(bytesOf(JSON.stringify(pair, undefined, spaces)));
        expect(read).toEqual(pairOf(pair));
        expect(Buffer.compare(read.value, bytes)).toBe(0);
        // No part of a larger buffer, which it would keep in memory.
        expect(read.value.byteLength).toBe(read.value.buffer.byteLength);
      }),
    );
  });

  it.each([
    ['a key that looks like a value', { Key: `"Value":"${LONG}"`, Value: 'eA==', ...PLACE }],
    ['a key that ends like the name of a value', { Key: '\\"Value', Value: LONG, ...PLACE }],
    ['a long value and a field of another pair', { Key: 'a', Other: '"Value":', Value: LONG, ...PLACE }],
  ])('with %s is read as from its JSON', (_, pair) => {
    expect(pairFrom(bytesOf(JSON.stringify(pair)))).toEqual(pairOf(pair));
  });

  it.each([
    ['two long values', `{"Key":"a","Value":"${LONG}","Value":"${LONG}","CreateIndex":5,"ModifyIndex":7}`],
    ['a long value in another value', `{"Key":"a","b":{"Value":"${LONG}"},"CreateIndex":5,"ModifyIndex":7}`],
    ['a long value that is not base64', `{"Key":"a","Value":"*${LONG}","CreateIndex":5,"ModifyIndex":7}`],
  ])('with %s is refused', (_, json) => {
    expect(() => pairFrom(bytesOf(json))).toThrow('the response cannot be read');
  });
});
