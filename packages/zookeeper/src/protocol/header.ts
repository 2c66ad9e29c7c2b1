/** What precedes every record but the first one each way. */

import { type Reader, Writer } from './jute.ts';

/** Numbers that no request of a caller has. */
export const Xid = { notification: -1, ping: -2, auth: -4 } as const;

/** Operations that only connections ask for. */
export const PING = 11;
export const AUTH = 100;

export interface ReplyHeader {
  readonly xid: number;
  readonly zxid: bigint;
  readonly code: number;
}

export function requestHeader(xid: number, type: number): Writer {
  return new Writer().int(xid).int(type);
}

/** Throws `MalformedRecord`. */
export function readHeader(reader: Reader): ReplyHeader {
  return { xid: reader.int(), zxid: reader.long(), code: reader.int() };
}
