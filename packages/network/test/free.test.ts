import { describe, expect, it } from 'vitest';

import { ByteBuffer, Deframer, free, type Framing } from '@incumbent/network';

const LENGTH = 100_000;

/** Four bytes of length before each message. */
const FRAMING: Framing = {
  headerBytes: 4,
  lengthIn: (header) => new DataView(header.buffer, header.byteOffset).getUint32(0),
};

const HEADER = Uint8Array.of(0, LENGTH >> 16, (LENGTH >> 8) & 0xff, LENGTH & 0xff);

function receive(buffer: ByteBuffer, bytes: Uint8Array): void {
  buffer.fill(bytes);
}

describe('freeing a message', () => {
  it('frees the memory of a message that arrived in pieces', () => {
    const deframer = new Deframer(FRAMING);
    const half = new Uint8Array(LENGTH / 2);
    const messages = [HEADER, half, half].flatMap((chunk) => [...deframer.push(chunk)]);
    expect(messages.map(({ length }) => length)).toEqual([LENGTH]);
    for (const message of messages) free(message);
    expect(messages.map(({ length }) => length)).toEqual([0]);
  });

  it.each([0, 1, 3, 4, 5, LENGTH, LENGTH + 3])('leaves the chunks alone, cut after %i bytes', (cut) => {
    const deframer = new Deframer(FRAMING);
    const stream = new Uint8Array([...HEADER, ...new Uint8Array(LENGTH)]);
    // Each has a buffer of its own, as the chunks of a caller's stream may have.
    const chunks = [stream.slice(0, cut), stream.slice(cut)];
    const lengths = chunks.map(({ length }) => length);
    const messages = chunks.flatMap((chunk) => [...deframer.push(chunk)]);
    expect(messages.map(({ length }) => length)).toEqual([LENGTH]);
    for (const message of messages) free(message);
    expect(chunks.map(({ length }) => length)).toEqual(lengths);
  });

  it('leaves alone a part of a buffer', () => {
    const buffer = new ByteBuffer(LENGTH);
    receive(buffer, new Uint8Array(LENGTH));
    free(buffer.bytes.subarray(1));
    expect(buffer.length).toBe(LENGTH);
    expect(buffer.bytes.length).toBe(LENGTH);
  });

  it('frees the memory of a buffer that has grown', () => {
    const buffer = new ByteBuffer(LENGTH);
    buffer.grow(2 * LENGTH);
    receive(buffer, new Uint8Array(2 * LENGTH));
    const { bytes } = buffer;
    free(bytes);
    expect(bytes.length).toBe(0);
  });
});
