/**
 * gRPC's framing. Each message has a header: one byte that states whether the message is
 * compressed, and four bytes of length.
 */

import type { Framing } from '@incumbent/network';

import { MalformedMessage, TooLongMessage } from './protobuf.ts';

const HEADER_BYTES = 5;

export function frame(message: Uint8Array): Uint8Array {
  const framed = new Uint8Array(HEADER_BYTES + message.length);
  new DataView(framed.buffer).setUint32(1, message.length);
  framed.set(message, HEADER_BYTES);
  return framed;
}

/**
 * A framing that throws `MalformedMessage` for a compressed message, and `TooLongMessage` for one
 * that is announced as longer than `maxBytes()` at that moment: such a message could exhaust the
 * memory of the process.
 */
export function grpcFraming(maxBytes: () => number): Framing {
  const lengthIn = (header: Uint8Array): number => {
    if (header[0] !== 0) throw new MalformedMessage('a compressed message came, which was not asked for');
    const length = new DataView(header.buffer, header.byteOffset).getUint32(1);
    if (length > maxBytes()) throw new TooLongMessage(`a message of ${length} bytes is announced`);
    return length;
  };
  return { headerBytes: HEADER_BYTES, lengthIn };
}
