/** A remote procedure of etcd: where it is, and what goes in and out. */

export interface Rpc<Request, Answer> {
  /** For messages: `Txn`. */
  readonly name: string;
  /** The HTTP/2 path that gRPC gives it. */
  readonly path: string;
  encode(request: Request): Uint8Array;
  /** Throws `MalformedMessage`. */
  decode(message: Uint8Array): Answer;
  /** The revision that an answer shows, where it is that of the whole cluster: of linearizable calls. */
  revisionOf?(answer: Answer): bigint;
}
