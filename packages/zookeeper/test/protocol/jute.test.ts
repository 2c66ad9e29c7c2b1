/** Records and frames: written, read again, and read from damaged bytes. */

import { Deframer } from '@incumbent/network';
import { retainedBytes } from '@incumbent/test-support';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { frame, MAX_REPLY_BYTES, RecordFraming } from '../../src/protocol/frame.ts';
import { MalformedRecord, Reader, Writer } from '../../src/protocol/jute.ts';
import { bytes, hex, int32, int64, text } from './records.ts';

describe('a record', () => {
  it('is read as it was written', () => {
    fc.assert(
      fc.property(int32, int64, fc.boolean(), bytes, text, fc.array(text), (int, long, bool, buffer, string, vector) => {
        const record = new Writer().int(int).long(long).bool(bool).buffer(buffer).string(string);
        const reader = new Reader(record.vector(vector, (one, item) => one.string(item)).finish());
        expect([reader.int(), reader.long(), reader.bool(), reader.buffer(), reader.string()]).toEqual([int, long, bool, buffer, string]);
        expect(reader.vector((one) => one.string())).toEqual(vector);
        expect(reader.left).toBe(0);
      }),
    );
  });

  it('grows with every kind of field', () => {
    for (let length = 100; length < 300; length += 1) {
      const written = new Writer().raw(new Uint8Array(length)).int(-2).long(-3n).bool(true).finish();
      const reader = new Reader(written.subarray(length));
      expect([reader.int(), reader.long(), reader.bool(), reader.left]).toEqual([-2, -3n, true, 0]);
    }
  });

  it('reads an absent value as empty', () => {
    const reader = new Reader(hex('ffffffffffffffffffffffff'));
    expect([reader.buffer(), reader.string(), reader.vector((one) => one.int())]).toEqual([new Uint8Array(), '', []]);
  });

  it('keeps every character of a name, a byte order mark too', () => {
    expect(new Reader(new Writer().string('\uFEFFa').finish()).string()).toBe('\uFEFFa');
  });

  it('returns copies, which later changes of the received bytes do not affect', () => {
    const received = new Writer().buffer(new Uint8Array([1])).finish();
    const value = new Reader(received).buffer();
    received.fill(9);
    expect(value).toEqual(new Uint8Array([1]));
  });

  it.each([
    ['int', '000000', (reader: Reader) => reader.int()],
    ['long', '00000000000000', (reader: Reader) => reader.long()],
    ['bool', '', (reader: Reader) => reader.bool()],
    ['buffer that is cut short', '00000002ff', (reader: Reader) => reader.buffer()],
    ['buffer of a negative length', 'fffffffe', (reader: Reader) => reader.buffer()],
    ['string that is cut short', '7fffffff41', (reader: Reader) => reader.string()],
    ['vector of more than there is', '7fffffff00000000', (reader: Reader) => reader.vector(() => 0)],
    ['vector of a negative length', 'fffffffe', (reader: Reader) => reader.vector(() => 0)],
  ])('%s of too few bytes is malformed', (_, digits, read) => {
    expect(() => read(new Reader(hex(digits)))).toThrow(MalformedRecord);
  });

  it('is read or malformed, whatever the bytes are', () => {
    const reads: readonly ((reader: Reader) => unknown)[] = [
      (reader) => reader.int(),
      (reader) => reader.long(),
      (reader) => reader.bool(),
      (reader) => reader.buffer(),
      (reader) => reader.string(),
      (reader) => reader.vector((one) => one.string()),
    ];
    fc.assert(
      fc.property(fc.uint8Array(), fc.array(fc.constantFrom(...reads), { maxLength: 20 }), (input, steps) => {
        const reader = new Reader(input);
        try {
          for (const step of steps) step(reader);
        } catch (error) {
          expect(error).toBeInstanceOf(MalformedRecord);
        }
        expect(reader.left).toBeGreaterThanOrEqual(0);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('frames', () => {
  it('are found in any chunks', () => {
    fc.assert(
      fc.property(fc.array(bytes), fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1 }), (records, cuts) => {
        const stream = Buffer.concat(records.map(frame));
        const deframer = new Deframer(new RecordFraming(200));
        const found: Uint8Array[] = [];
        for (let at = 0, i = 0; at < stream.length; i += 1) {
          const length = cuts[i % cuts.length]!;
          found.push(...deframer.push(stream.subarray(at, at + length)));
          at += length;
        }
        expect(found.map((record) => new Uint8Array(record))).toEqual(records);
      }),
    );
  });

  it('keep no more memory than the record that arrives in small pieces', () => {
    const framed = frame(new Uint8Array(MAX_REPLY_BYTES));
    const retained = retainedBytes(() => {
      const deframer = new Deframer(new RecordFraming(MAX_REPLY_BYTES));
      for (let at = 0; at < 8_000_000; at += 16)
        for (const record of deframer.push(framed.subarray(at, at + 16))) expect(record).toBeUndefined();
      return deframer;
    });
    expect(retained).toBeLessThan(MAX_REPLY_BYTES + 2 ** 20);
  });

  it.each([
    ['a negative length', 'ffffffff'],
    ['a length beyond the limit', '00000101'],
    ['the words of an HTTP server', Buffer.from('HTTP/1.1 400 Bad Request').toString('hex')],
    ['the alert of a TLS server', '15030300020246'],
    ['the settings of an HTTP/2 server', '000006040000000000000400100000'],
  ])('that announce %s are refused', (_, digits) => {
    expect(() => [...new Deframer(new RecordFraming(256)).push(hex(digits))]).toThrow(MalformedRecord);
  });

  it('are found or refused, whatever the bytes are, and are never longer than the limit', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array()), (chunks) => {
        const deframer = new Deframer(new RecordFraming(16));
        try {
          for (const chunk of chunks) for (const record of deframer.push(chunk)) expect(record.length).toBeLessThanOrEqual(16);
        } catch (error) {
          expect(error).toBeInstanceOf(MalformedRecord);
        }
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('a name', () => {
  it.each([
    ['as long as a request may be is read', 2 ** 20 - 1, true],
    ['longer than any request is malformed, as no client can have written it', 2 ** 20, false],
  ])('%s', (_, length, isRead) => {
    const reader = new Reader(new Writer().string('x'.repeat(length)).finish());
    if (isRead) expect(reader.string()).toHaveLength(length);
    else expect(() => reader.string()).toThrow(MalformedRecord);
  });
});

describe('a record of millions of parts is refused', () => {
  const LENGTH = 16 * 2 ** 20;

  it.each<[string, (reader: Reader) => void]>([
    ['empty strings', (reader) => void reader.vector((one) => one.string())],
    ['empty buffers', (reader) => void reader.vector((one) => one.buffer())],
    ['numbers', (reader) => void reader.vector((one) => one.int())],
  ])('%s', (_, read) => {
    const record = new Uint8Array(LENGTH);
    new DataView(record.buffer).setInt32(0, LENGTH / 4 - 1);
    expect(() => read(new Reader(record))).toThrow(/more parts than any answer/);
  });
});
