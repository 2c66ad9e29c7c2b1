/** ZooKeeper's framing: each record is preceded by four bytes that say how long it is. */

import { MAX_ANSWER_BYTES } from '@incumbent/network';

import { MalformedRecord } from './jute.ts';

const HEADER_BYTES = 4;

/**
 * What a server takes at most, unless its `jute.maxbuffer` says otherwise. One that is sent more does not answer: it ends the connection, which
 * would leave everybody guessing.
 */
export const MAX_REQUEST_BYTES: number = 2 ** 20 - 1;

/** What announces more is no answer, or one that would exhaust the process. */
export const MAX_REPLY_BYTES: number = MAX_ANSWER_BYTES;

/** The first answer has 37 bytes. A server of another kind is known by what its first four bytes would announce. */
export const MAX_WELCOME_BYTES = 256;

export function frame(record: Uint8Array): Uint8Array {
  const framed = new Uint8Array(HEADER_BYTES + record.length);
  new DataView(framed.buffer).setInt32(0, record.length);
  framed.set(record, HEADER_BYTES);
  return framed;
}

/** Finds the records in a stream of bytes, however it was cut into chunks. */
export class Deframer {
  /** Frames that announce more are refused, before anything is kept of them. */
  maxBytes: number;
  #chunks: Uint8Array[] = [];
  #bytes = 0;
  /** The length of the record whose header was read; undefined between records. */
  #announced: number | undefined;

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
  }

  /** Takes the next bytes; yields the records that are whole now. Throws `MalformedRecord`. */
  *push(chunk: Uint8Array): Generator<Uint8Array, void, void> {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    while (this.#bytes >= (this.#announced ?? HEADER_BYTES)) {
      if (this.#announced === undefined) {
        this.#announced = this.#lengthIn(this.#take(HEADER_BYTES));
      } else {
        const record = this.#take(this.#announced);
        this.#announced = undefined;
        yield record;
      }
    }
  }

  #lengthIn(header: Uint8Array): number {
    const length = new DataView(header.buffer, header.byteOffset).getInt32(0);
    if (length < 0 || length > this.maxBytes) throw new MalformedRecord(`a record of ${length} bytes is announced`);
    return length;
  }

  // Chunks are joined when all of a record is there, so that a long one is copied once.
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
