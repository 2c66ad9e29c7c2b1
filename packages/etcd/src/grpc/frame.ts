/** gRPC's framing: each message is preceded by one byte that says whether it is compressed, and four that say how long it is. */

import { MAX_ANSWER_BYTES } from '@incumbent/network';

import { MalformedMessage } from '../wire/protobuf.ts';

const HEADER_BYTES = 5;

/** What announces more is no answer, or one that would exhaust the process. */
export const MAX_MESSAGE_BYTES: number = MAX_ANSWER_BYTES;

export function frame(message: Uint8Array): Uint8Array {
  const framed = new Uint8Array(HEADER_BYTES + message.length);
  new DataView(framed.buffer).setUint32(1, message.length);
  framed.set(message, HEADER_BYTES);
  return framed;
}

function messageLength(header: Uint8Array): number {
  if (header[0] !== 0) throw new MalformedMessage('a compressed message came, which was not asked for');
  const length = new DataView(header.buffer, header.byteOffset).getUint32(1);
  if (length > MAX_MESSAGE_BYTES) throw new MalformedMessage(`a message of ${length} bytes is announced`);
  return length;
}

/** Finds the messages in a stream of bytes, however it was cut into chunks. */
export class Deframer {
  #chunks: Uint8Array[] = [];
  #bytes = 0;
  /** The length of the message whose header was read; undefined between messages. */
  #announced: number | undefined;

  /** Takes the next bytes; yields the messages that are whole now. Throws `MalformedMessage`. */
  *push(chunk: Uint8Array): Generator<Uint8Array, void, void> {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    while (this.#bytes >= (this.#announced ?? HEADER_BYTES)) {
      if (this.#announced === undefined) {
        this.#announced = messageLength(this.#take(HEADER_BYTES));
      } else {
        const message = this.#take(this.#announced);
        this.#announced = undefined;
        yield message;
      }
    }
  }

  // Chunks are joined when all of a message is there, so that a long one is copied once.
  #take(length: number): Uint8Array {
    const [first] = this.#chunks;
    const all = first !== undefined && first.length >= length ? first : this.#joined();
    if (all === first) this.#chunks.shift();
    if (all.length > length) this.#chunks.unshift(all.subarray(length));
    this.#bytes -= length;
    return all.subarray(0, length);
  }

  #joined(): Uint8Array {
    const joined = new Uint8Array(this.#bytes);
    let offset = 0;
    for (const chunk of this.#chunks) {
      joined.set(chunk, offset);
      offset += chunk.length;
    }
    this.#chunks = [];
    return joined;
  }
}
