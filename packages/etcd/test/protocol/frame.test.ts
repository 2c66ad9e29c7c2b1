import { Deframer } from '@incumbent/network';
import { retainedBytes } from '@incumbent/test-support';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { frame, grpcFraming } from '../../src/protocol/frame.ts';
import { MalformedMessage } from '../../src/protocol/protobuf.ts';
import { MAX_MESSAGE_BYTES } from '../../src/protocol/rpc.ts';

const FRAMING = grpcFraming(() => MAX_MESSAGE_BYTES);

function join(parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(parts.flatMap((part) => [...part]));
}

/** Cuts the bytes at these places. */
function cut(all: Uint8Array, places: readonly number[]): Uint8Array[] {
  const sorted = [...new Set(places.map((place) => place % (all.length + 1)))].toSorted((a, b) => a - b);
  return [0, ...sorted].map((start, i) => all.slice(start, sorted[i] ?? all.length));
}

describe('framing', () => {
  it('finds the same messages wherever the bytes were cut', () => {
    const messages = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 6 });
    fc.assert(
      fc.property(messages, fc.array(fc.nat(300), { maxLength: 12 }), (sent, places) => {
        const deframer = new Deframer(FRAMING);
        const received = cut(join(sent.map(frame)), places).flatMap((chunk) => [...deframer.push(chunk)]);
        expect(received.map((message) => [...message])).toEqual(sent.map((message) => [...message]));
      }),
    );
  });

  it('returns no message that is incomplete', () => {
    const framed = frame(new Uint8Array(10));
    for (let length = 1; length < framed.length; length += 1) {
      expect([...new Deframer(FRAMING).push(framed.slice(0, length))]).toEqual([]);
    }
  });

  it('joins a long message of many chunks in linear time', () => {
    const framed = frame(new Uint8Array(MAX_MESSAGE_BYTES));
    const deframer = new Deframer(FRAMING);
    const received: Uint8Array[] = [];
    // Joined at every chunk, it would be gigabytes of copies.
    for (let at = 0; at < framed.length; at += 4_096) received.push(...deframer.push(framed.subarray(at, at + 4_096)));
    expect(received.map(({ length }) => length)).toEqual([MAX_MESSAGE_BYTES]);
  });

  it('uses no more memory for a message in small pieces than the message needs', () => {
    const framed = frame(new Uint8Array(MAX_MESSAGE_BYTES));
    const retained = retainedBytes(() => {
      const deframer = new Deframer(FRAMING);
      for (let at = 0; at < 8_000_000; at += 16)
        for (const message of deframer.push(framed.subarray(at, at + 16))) expect(message).toBeUndefined();
      return deframer;
    });
    expect(retained).toBeLessThan(MAX_MESSAGE_BYTES + 2 ** 20);
  });

  it('refuses compressed messages, and messages that are too large', () => {
    expect(() => [...new Deframer(FRAMING).push(new Uint8Array([1, 0, 0, 0, 0]))]).toThrow(MalformedMessage);
    const header = new Uint8Array(5);
    new DataView(header.buffer).setUint32(1, MAX_MESSAGE_BYTES + 1);
    expect(() => [...new Deframer(FRAMING).push(header)]).toThrow(MalformedMessage);
  });
});
