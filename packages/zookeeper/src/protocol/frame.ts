/** ZooKeeper's framing: each record is preceded by four bytes that say how long it is. */

import { type Framing, MAX_ANSWER_BYTES } from '@incumbent/network';

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

/** Throws `MalformedRecord` for a header that announces more than `maxBytes`, or less than nothing. */
export class RecordFraming implements Framing {
  readonly headerBytes: number = HEADER_BYTES;
  maxBytes: number;

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
  }

  lengthIn(header: Uint8Array): number {
    const length = new DataView(header.buffer, header.byteOffset).getInt32(0);
    if (length < 0 || length > this.maxBytes) throw new MalformedRecord(`a record of ${length} bytes is announced`);
    return length;
  }
}
