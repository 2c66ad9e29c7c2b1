/** How records are put on a connection: each is preceded by its length, and then by a header. */

import { type Framing, MAX_ANSWER_BYTES } from '@incumbent/network';

import { MalformedRecord, type Reader, Writer } from './jute.ts';

const LENGTH_BYTES = 4;

/** A request's header: its number and its type. */
export const HEADER_BYTES = 8;

/**
 * The most bytes of a reply. A longer record is not an answer, or would exhaust the memory of this
 * process.
 */
export const MAX_REPLY_BYTES: number = MAX_ANSWER_BYTES;

/**
 * The most bytes of the first answer, which has 37. The first four bytes of a server that is not
 * ZooKeeper announce more.
 */
export const MAX_WELCOME_BYTES = 256;

/** The numbers of records that do not answer a caller's request. */
export const Xid = { notification: -1, ping: -2, auth: -4 } as const;

/** The types of requests that only connections send. */
export const PING = 11;
export const AUTH = 100;

export interface ReplyHeader {
  readonly xid: number;
  readonly zxid: bigint;
  readonly code: number;
}

export function frame(record: Uint8Array): Uint8Array {
  const framed = new Uint8Array(LENGTH_BYTES + record.length);
  new DataView(framed.buffer).setInt32(0, record.length);
  framed.set(record, LENGTH_BYTES);
  return framed;
}

/** Throws `MalformedRecord` for an announced length above `maxBytes` or below 0. */
export class RecordFraming implements Framing {
  readonly headerBytes: number = LENGTH_BYTES;
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

/** The header that precedes every request but the first. */
export function requestHeader(xid: number, type: number): Writer {
  return new Writer().int(xid).int(type);
}

/** The header that precedes every reply but the first. Throws `MalformedRecord`. */
export function readHeader(reader: Reader): ReplyHeader {
  return { xid: reader.int(), zxid: reader.long(), code: reader.int() };
}
