/** A remote procedure of etcd: its path, and the codecs of its request and answer. */

export interface Rpc<Request, Answer> {
  /** For error messages: `Txn`. */
  readonly name: string;
  /** The HTTP/2 path. */
  readonly path: string;
  encode(request: Request): Uint8Array;
  /** Throws `MalformedMessage`. */
  decode(message: Uint8Array): Answer;
  /** For linearizable calls: the revision of the cluster that the answer shows. */
  revisionOf?(answer: Answer): bigint;
}
