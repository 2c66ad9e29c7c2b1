/** An operation of ZooKeeper: its number, and how its request and its answer are written. */

import type { Reader, Writer } from './jute.ts';

export interface Operation<Request, Answer> {
  /** For messages, for example `getData`. */
  readonly name: string;
  /** ZooKeeper's number for the operation. */
  readonly type: number;
  encode(writer: Writer, request: Request): void;
  /** Throws `MalformedRecord`. */
  decode(reader: Reader): Answer;
}

/** A server's answer to one request. */
export interface Reply<Answer> {
  /**
   * For a write, the id of its transaction: the czxid or mzxid of every node that it created or
   * changed. For a read, the id of the last transaction that the server had applied.
   */
  readonly zxid: bigint;
  readonly answer: Answer;
}
