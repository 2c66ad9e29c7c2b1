/** A remote procedure of etcd: its path, and the codecs of its request and answer. */

import { MAX_ANSWER_BYTES, MAX_GREETING_BYTES } from '@incumbent/network';

/** The most bytes of an answer that contains keys and values. */
export const MAX_MESSAGE_BYTES: number = MAX_ANSWER_BYTES;
/** The most bytes of any other answer: a version, a token, a lease. */
export const MAX_SHORT_BYTES: number = MAX_GREETING_BYTES;

export interface Rpc<Request, Answer> {
  /** For error messages: `Txn`. */
  readonly name: string;
  /** The HTTP/2 path. */
  readonly path: string;
  /** A longer answer is refused as soon as it is announced. */
  readonly maxBytes: number;
  encode(request: Request): Uint8Array;
  /** Throws `MalformedMessage`. */
  decode(message: Uint8Array): Answer;
  /**
   * The request changes nothing in the store, and any member answers the same. If one fails, the
   * client may send it to others. Default: false.
   */
  readonly repeatable?: boolean;
  /** For linearizable calls: the revision of the cluster that the answer shows. */
  revisionOf?(answer: Answer): bigint;
}
