/** gRPC's framing: each message is preceded by one byte that says whether it is compressed, and four that say how long it is. */

import { type Framing, MAX_ANSWER_BYTES } from '@incumbent/network';

import { MalformedMessage } from './protobuf.ts';

const HEADER_BYTES = 5;

/** What announces more is no answer, or one that would exhaust the process. */
export const MAX_MESSAGE_BYTES: number = MAX_ANSWER_BYTES;

export function frame(message: Uint8Array): Uint8Array {
  const framed = new Uint8Array(HEADER_BYTES + message.length);
  new DataView(framed.buffer).setUint32(1, message.length);
  framed.set(message, HEADER_BYTES);
  return framed;
}

/** The length that a header announces. */
function lengthIn(header: Uint8Array): number {
  if (header[0] !== 0) throw new MalformedMessage('a compressed message came, which was not asked for');
  const length = new DataView(header.buffer, header.byteOffset).getUint32(1);
  if (length > MAX_MESSAGE_BYTES) throw new MalformedMessage(`a message of ${length} bytes is announced`);
  return length;
}

/** Throws `MalformedMessage` for a header that no answer has. */
export const GRPC_FRAMING: Framing = { headerBytes: HEADER_BYTES, lengthIn };
