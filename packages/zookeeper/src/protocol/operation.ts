/** An operation of ZooKeeper: its number, and what goes in and out. */

import type { Reader, Writer } from './jute.ts';

export interface Operation<Request, Answer> {
  /** For messages: `getData`. */
  readonly name: string;
  /** ZooKeeper's own number for it. */
  readonly type: number;
  encode(writer: Writer, request: Request): void;
  /** Throws `MalformedRecord`. */
  decode(reader: Reader): Answer;
}

/** What a server answered. */
export interface Reply<Answer> {
  /** For a write, its transaction: the czxid or mzxid of all that it made or changed. For a read, the last one that the server had applied. */
  readonly zxid: bigint;
  readonly answer: Answer;
}
