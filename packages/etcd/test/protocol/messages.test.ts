/** Messages: what etcd 3.4.23 really sent, and whatever else may come. */

import { mayRefuse } from '@incumbent/test-support/fuzz';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { authenticate, status } from '../../src/protocol/admin.ts';
import { range, txn } from '../../src/protocol/kv.ts';
import { leaseGrant, leaseKeepAlive } from '../../src/protocol/lease.ts';
import { MalformedMessage, Reader, Writer } from '../../src/protocol/protobuf.ts';
import { decodeWatchAnswer } from '../../src/protocol/watch.ts';

const HEADER = '0a1a08aaf4e5f599f3ebe7d101108df2f48ec1f7a6d7bd01184c2002';
const LEASE = 4111120139013389128n;
const KEY_VALUE = '0a0466782f61104c184c20012a036f6e6530c8f6e3d6c1bfe88639';

function bytes(hex: string): Uint8Array {
  return new Uint8Array(Buffer.from(hex, 'hex'));
}

const kv = { key: 'fx/a', value: new TextEncoder().encode('one'), createRevision: 76n, modRevision: 76n, lease: LEASE };

describe('decoding the answers of a real server', () => {
  it('reads a version', () => {
    const message = `${HEADER}1206332e342e32331880c001208df2f48ec1f7a6d7bd012855300238554880c001`;
    expect(status.decode(bytes(message))).toBe('3.4.23');
  });

  it('reads leases: granted, renewed, and not found', () => {
    expect(leaseGrant.decode(bytes(`${HEADER}10c8f6e3d6c1bfe886391805`))).toEqual({ id: LEASE, ttlSeconds: 5n });
    expect(leaseKeepAlive(1234567n).decode(bytes(`${HEADER}1087ad4b`))).toEqual({ id: 1234567n, ttlSeconds: 0n });
  });

  it('reads keys, with and without their values', () => {
    expect(range.decode(bytes(`${HEADER}121b${KEY_VALUE}18012002`))).toEqual({ revision: 76n, kvs: [kv] });
    const keysOnly = `${HEADER}12160a0466782f61104c184c200130c8f6e3d6c1bfe88639120c0a0466782f62104c184c20012002`;
    expect(range.decode(bytes(keysOnly)).kvs).toEqual([
      { ...kv, value: new Uint8Array(0) },
      { ...kv, key: 'fx/b', value: new Uint8Array(0), lease: 0n },
    ]);
  });

  it('reads transactions: committed, and refused with the present state', () => {
    expect(txn.decode(bytes(`${HEADER}10011a0612040a02184c1a0612040a02184c`))).toEqual({
      succeeded: true,
      revision: 76n,
      ranges: [undefined, undefined],
    });
    const failed = `${HEADER}1a250a230a02184c121b${KEY_VALUE}20011a060a040a02184c`;
    expect(txn.decode(bytes(failed))).toEqual({
      succeeded: false,
      revision: 76n,
      ranges: [
        { revision: 76n, kvs: [kv] },
        { revision: 76n, kvs: [] },
      ],
    });
  });

  it('reads watches: created, and cancelled by compaction', () => {
    const none = { revision: 76n, id: 0n, reason: '', events: [] };
    expect(decodeWatchAnswer(bytes(`${HEADER}1801`))).toEqual({ ...none, created: true, canceled: false, compactRevision: 0n });
    const compacted = '0a1808aaf4e5f599f3ebe7d101108df2f48ec1f7a6d7bd0120022001280a';
    expect(decodeWatchAnswer(bytes(compacted))).toEqual({ ...none, revision: 0n, created: false, canceled: true, compactRevision: 10n });
  });
});

const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
const field = fc.integer({ min: 1, max: 2 ** 29 - 1 });
const chunk = fc.uint8Array({ maxLength: 200 });

describe('numbers and bytes', () => {
  it('are decoded as they were encoded, in any field', () => {
    fc.assert(
      fc.property(field, int64, chunk, fc.string(), (number, value, data, text) => {
        const nested = new Writer().int64(1, value);
        const reader = new Reader(
          new Writer().int64(number, value).bytes(number, data).string(number, text).message(number, nested).finish(),
        );
        expect([reader.next(), reader.int64()]).toEqual([number, value]);
        expect([reader.next(), reader.bytes()]).toEqual([number, data]);
        expect([reader.next(), reader.string()]).toEqual([number, text.toWellFormed()]);
        reader.next();
        const inner = reader.message();
        expect([inner.next(), inner.int64(), inner.next()]).toEqual([1, value, undefined]);
        expect(reader.next()).toBeUndefined();
      }),
    );
  });

  it('of any type are skipped in unknown fields', () => {
    const unknown = bytes('08ffffffffffffffffff01' + '110102030405060708' + '1a03616263' + '2501020304');
    const reader = new Reader(new Uint8Array([...unknown, ...new Writer().int64(7, 9n).finish()]));
    expect([reader.next(), reader.next(), reader.next(), reader.next(), reader.next(), reader.int64()]).toEqual([1, 2, 3, 4, 7, 9n]);
    expect(reader.next()).toBeUndefined();
  });

  it('are copies, which do not keep the answer in memory', () => {
    const message = new Writer().bytes(1, bytes('0102')).finish();
    const reader = new Reader(message);
    reader.next();
    const value = reader.bytes();
    message.fill(0);
    expect(value).toEqual(bytes('0102'));
    expect(Object.getPrototypeOf(value)).toBe(Uint8Array.prototype);
  });
});

describe('malformed input is refused', () => {
  it.each([
    ['a number that ends too soon', '08ff'],
    ['a number of more than 64 bits', '08ffffffffffffffffff02'],
    ['a number of more than ten bytes', '08ffffffffffffffffffff01'],
    ['more bytes announced than there are', '0a05616263'],
    ['a length beyond all memory', '0affffffffffffffffff01'],
    ['a field without a value', '08'],
    ['field number 0', '0001'],
    ['a wire type that does not exist', '0b'],
    ['four bytes where eight belong', '1901020304'],
    ['two bytes where four belong', '1d0102'],
  ])('%s', (_, hex) => {
    const readAll = (): void => {
      const reader = new Reader(bytes(hex));
      while (reader.next() !== undefined);
    };
    expect(readAll).toThrow(MalformedMessage);
  });

  it('a length beyond the end', () => {
    const reader = new Reader(bytes('0a04616263'));
    reader.next();
    expect(() => reader.bytes()).toThrow(MalformedMessage);
  });

  it('a known field of a wrong type', () => {
    expect(() => range.decode(bytes('0801'))).toThrow(MalformedMessage);
    expect(() => leaseGrant.decode(bytes('1203616263'))).toThrow(MalformedMessage);
  });

  it('a grant without a lease or a ttl, and the renewal of another lease', () => {
    for (const hex of ['', HEADER, `${HEADER}1805`, `${HEADER}10c8f6e3d6c1bfe88639`])
      expect(() => leaseGrant.decode(bytes(hex))).toThrow(MalformedMessage);
    for (const hex of ['', HEADER, `${HEADER}1805`, `${HEADER}1087ad4b1805`])
      expect(() => leaseKeepAlive(LEASE).decode(bytes(hex))).toThrow(MalformedMessage);
  });

  it('an answer without its revision, and an event without its key', () => {
    expect(() => range.decode(new Uint8Array(0))).toThrow(MalformedMessage);
    expect(() => txn.decode(bytes('1001'))).toThrow(MalformedMessage);
    expect(() => decodeWatchAnswer(bytes('5a020801'))).toThrow(MalformedMessage);
  });

  const decoders = [status, authenticate, leaseGrant, leaseKeepAlive(LEASE), range, txn].map(({ decode }) => decode);

  it('any bytes give an answer or MalformedMessage, and no other error', () => {
    const real = [`${HEADER}121b${KEY_VALUE}18012002`, `${HEADER}1a250a230a02184c121b${KEY_VALUE}20011a060a040a02184c`].map(bytes);
    const damaged = fc.tuple(fc.constantFrom(...real), fc.nat(200), fc.integer({ min: 0, max: 255 })).map(([message, at, byte]) => {
      const copy = message.slice();
      copy[at % copy.length] = byte;
      return copy;
    });
    const cut = fc.tuple(fc.constantFrom(...real), fc.nat(200)).map(([message, at]) => message.slice(0, at % message.length));
    fc.assert(
      fc.property(fc.oneof(chunk, damaged, cut), (message) => {
        for (const decode of [...decoders, decodeWatchAnswer])
          mayRefuse(
            (error) => error instanceof MalformedMessage,
            () => decode(message),
          );
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('a message of millions of elements is refused', () => {
  const LENGTH = 16 * 2 ** 20;

  it.each([
    ['empty keys and values', [0x12, 0x00]],
    ['fields that nobody knows', [0x78, 0x00]],
    ['numbers', [0x20, 0x01]],
  ])('%s', (_, part) => {
    const message = new Uint8Array(LENGTH);
    for (let at = 0; at < LENGTH; at += part.length) message.set(part, at);
    expect(() => range.decode(message)).toThrow(/more parts than any answer/);
  });
});
