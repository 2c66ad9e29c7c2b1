import { TinyPieces } from '@incumbent/network';
import { expect, it } from 'vitest';

import { WholeMessages } from '../src/client/whole-messages.ts';
import { COMPLETE, description, READY, row } from './server-messages.ts';

const MESSAGES = [description(2), row('a', 'b'.repeat(70_000)), row('', ''), COMPLETE, READY] as const;
const STREAM = Buffer.concat(MESSAGES);

/** Collects what is delivered, and counts what is taken for it. */
class Collector {
  readonly delivered: Buffer[] = [];
  taken = 0;
  readonly messages = new WholeMessages({
    take: (bytes) => (this.taken += bytes),
    deliver: (messages) => this.delivered.push(Buffer.from(messages)),
  });
}

/** Cuts into messages, and fails if a part of one is left. */
function cut(bytes: Buffer): Buffer[] {
  const found: Buffer[] = [];
  for (let at = 0; at < bytes.length;) {
    const length = 1 + bytes.readUInt32BE(at + 1);
    expect(at + length).toBeLessThanOrEqual(bytes.length);
    found.push(bytes.subarray(at, at + length));
    at += length;
  }
  return found;
}

it.each([1, 3, 4, 5, 6, 7, 64, 1_000, 65_536, 69_999, STREAM.length - 1, STREAM.length])(
  'pieces hold whole messages, whatever the chunks: %d bytes each',
  (size) => {
    const collector = new Collector();
    const { messages, delivered } = collector;
    // Chunks of a few bytes are refused within a long message.
    const stream = size < 16 ? Buffer.concat([description(2), row('a', 'b'), READY]) : STREAM;
    for (let at = 0; at < stream.length; at += size) messages.push(stream.subarray(at, at + size));
    expect(delivered.flatMap(cut)).toEqual(cut(stream));
    expect(collector.taken).toBe(stream.length);
    expect(messages.partialBytes).toBe(0);
  },
);

it('complete messages of one chunk are delivered together, without a copy', () => {
  const delivered: Buffer[] = [];
  const messages = new WholeMessages({ take: () => {}, deliver: (piece) => delivered.push(piece) });
  const chunk = Buffer.concat([COMPLETE, READY, COMPLETE]);
  messages.push(chunk);
  expect(delivered).toHaveLength(1);
  expect(delivered[0]?.buffer).toBe(chunk.buffer);
});

it('the memory of a message is taken as soon as its length is known', () => {
  const long = row('a'.repeat(100_000));
  for (const size of [5, 1_000]) {
    const collector = new Collector();
    collector.messages.push(long.subarray(0, size));
    expect([collector.taken, collector.messages.partialBytes]).toEqual([long.length, long.length]);
    expect(collector.delivered).toEqual([]);
    collector.messages.close();
    expect(collector.messages.partialBytes).toBe(0);
  }
});

it('a message for which there is no memory is not begun', () => {
  const refused = new Error('refused');
  const messages = new WholeMessages({
    take: () => {
      throw refused;
    },
    deliver: () => {},
  });
  expect(() => messages.push(row('a'.repeat(100_000)).subarray(0, 1_000))).toThrow(refused);
  expect(messages.partialBytes).toBe(0);
});

it('a long message in pieces of a few bytes is refused', () => {
  const { messages } = new Collector();
  const long = row('a'.repeat(100_000));
  const push = (): void => {
    for (const byte of long) messages.push(new Uint8Array([byte]));
  };
  expect(push).toThrow(TinyPieces);
});

it('a message that is shorter than any is refused', () => {
  const { messages } = new Collector();
  expect(() => messages.push(Buffer.from([68, 0, 0, 0, 3]))).toThrow(RangeError);
});
