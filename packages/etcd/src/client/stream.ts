/** gRPC over HTTP/2 streams. */

import {
  constants,
  type ClientHttp2Stream,
  type IncomingHttpHeaders,
  type IncomingHttpStatusHeader,
  type OutgoingHttpHeaders,
} from 'node:http2';

import type { Cancel } from '@incumbent/core';
import { Deframer, free, TinyPieces } from '@incumbent/network';

import { frame, grpcFraming } from '../protocol/frame.ts';
import { MalformedMessage } from '../protocol/protobuf.ts';
import type { Rpc } from '../protocol/rpc.ts';
import { ExchangeError, type Failure } from './failure.ts';
import type { Http2Connection } from './http2-connection.ts';

const { NGHTTP2_CANCEL, NGHTTP2_REFUSED_STREAM } = constants;

const STATUS_OK = 0;

export interface StreamHandlers {
  /**
   * The most bytes that the next message may have. A longer one ends the stream as soon as it is
   * announced.
   */
  maxBytes(): number;
  /** A message arrived. If this throws, the stream ends with the failure `malformed`. */
  message(message: Uint8Array): void;
  /**
   * The stream ended. Called once, and not after `cancel`. Without an error, the server has ended
   * the stream with the status OK.
   */
  ended(error: ExchangeError | undefined): void;
}

/** One gRPC stream: messages in both directions until either side ends it. */
export class GrpcStream {
  readonly #connection: Http2Connection;
  readonly #stream: ClientHttp2Stream;
  readonly #handlers: StreamHandlers;
  readonly #deframer: Deframer;
  #httpStatus: number | undefined;
  /** Whether the answer declares itself as gRPC. */
  #isGrpc = false;
  #status: { readonly code: number; readonly reason: string } | undefined;
  #cause: Error | undefined;
  /** Ends the wait for memory. Undefined while the stream does not wait. */
  #stopWaiting: Cancel | undefined;
  #over = false;

  /** Throws an `ExchangeError` if the connection has closed. Nothing was sent then. */
  constructor(connection: Http2Connection, path: string, headers: OutgoingHttpHeaders, handlers: StreamHandlers) {
    this.#handlers = handlers;
    this.#connection = connection;
    this.#deframer = new Deframer(grpcFraming(handlers.maxBytes), connection.answers);
    this.#stream = connection.request({ ':path': path, ...headers });
    this.#stream.on('response', (received) => {
      this.#onHeaders(received);
      // Listen only from now on: Deno emits data that arrived together with the headers before it
      // emits the headers.
      this.#stream.on('data', (chunk: Uint8Array) => this.#onData(chunk));
    });
    this.#stream.on('trailers', (received: IncomingHttpHeaders) => {
      this.#onStatus(received);
      // Node emits the end some time after the last data.
      if (this.#status !== undefined && this.#stream.readableLength === 0 && this.#stopWaiting === undefined) this.#end();
    });
    this.#stream.on('error', (error: Error) => {
      this.#cause = error;
    });
    this.#stream.on('end', () => {
      if (this.#status !== undefined) this.#end();
    });
    this.#stream.on('close', () => this.#end());
  }

  send(message: Uint8Array): void {
    this.#stream.write(frame(message));
  }

  /** Sends the last message. */
  sendLast(message: Uint8Array): void {
    this.#stream.end(frame(message));
  }

  /** Tells the server to stop. No handler is called afterwards. */
  cancel(): void {
    this.#over = true;
    this.#stopWaiting?.();
    this.#deframer.close();
    this.#stream.close(NGHTTP2_CANCEL);
  }

  #onHeaders(received: IncomingHttpHeaders & IncomingHttpStatusHeader): void {
    this.#httpStatus = received[':status'];
    this.#isGrpc = received['content-type']?.startsWith('application/grpc') ?? false;
    // The answer to a call that fails at once consists of headers only.
    this.#onStatus(received);
  }

  #onStatus(received: IncomingHttpHeaders): void {
    const code = Number(received['grpc-status'] ?? Number.NaN);
    if (Number.isInteger(code)) this.#status = { code, reason: decodeReason(received['grpc-message']) };
  }

  #onData(chunk: Uint8Array): void {
    if (!this.#over && this.#isGrpc) this.#take(this.#deframer.push(chunk));
  }

  #take(messages: Iterable<Uint8Array>): void {
    try {
      for (const message of messages) this.#handlers.message(message);
    } catch (error) {
      if (this.#deframer.isWaiting) return this.#waitForMemory();
      this.#finish(new ExchangeError({ kind: 'malformed' }, 'the answer cannot be understood', error));
      this.cancel();
      if (error instanceof TinyPieces) this.#connection.destroy(error);
    }
  }

  /** Leaves the rest of a long answer at the server until other answers have been read. */
  #waitForMemory(): void {
    this.#stream.pause();
    this.#stopWaiting = this.#connection.answers.onFree(() => {
      this.#stopWaiting = undefined;
      if (this.#over) return;
      this.#stream.resume();
      this.#take(this.#deframer.retry());
    });
  }

  #end(): void {
    const failure = this.#failure();
    this.#finish(failure === undefined ? undefined : new ExchangeError(failure, this.#describe(failure), this.#cause));
  }

  #finish(error: ExchangeError | undefined): void {
    if (this.#over) return;
    this.#over = true;
    this.#stopWaiting?.();
    this.#deframer.close();
    this.#handlers.ended(error);
  }

  #failure(): Failure | undefined {
    // The rest of the answer will not be read, whatever the server's status is.
    if (this.#stopWaiting !== undefined) return { kind: 'cut' };
    if (this.#status?.code === STATUS_OK) return undefined;
    if (this.#status !== undefined) return { kind: 'status', status: this.#status.code, reason: this.#status.reason };
    if (this.#httpStatus === undefined && this.#isRefused()) return { kind: 'streamRefused' };
    if (this.#httpStatus !== undefined && !this.#isGrpc) return { kind: 'http', httpStatus: this.#httpStatus };
    return { kind: 'cut' };
  }

  #isRefused(): boolean {
    return this.#stream.rstCode === NGHTTP2_REFUSED_STREAM && !this.#connection.hasTaken(this.#stream);
  }

  #describe(failure: Failure): string {
    if (failure.kind === 'status') return failure.reason === '' ? `gRPC status ${failure.status}` : failure.reason;
    if (failure.kind === 'http') return `answered with HTTP status ${failure.httpStatus}, and not in gRPC`;
    if (failure.kind === 'streamRefused') return 'the server did not take the request';
    return this.#cause?.message ?? 'the connection was lost';
  }
}

/** The protocol percent-encodes the message. Text that is not valid is kept as it is. */
function decodeReason(value: string | string[] | undefined): string {
  const text = String(value ?? '');
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * Sends one request and waits for its one answer. Rejects with an `ExchangeError`, or with the
 * signal's reason.
 */
export function exchange(
  connection: Http2Connection,
  { path, maxBytes }: Pick<Rpc<never, unknown>, 'path' | 'maxBytes'>,
  headers: OutgoingHttpHeaders,
  request: Uint8Array,
  signal: AbortSignal,
): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    let answer: Uint8Array | undefined;
    // The answer counts until the status arrives, which a server may withhold.
    const share = connection.answers.share();
    const stream = new GrpcStream(connection, path, headers, {
      maxBytes: () => (answer === undefined ? maxBytes : 0),
      message: (message) => {
        if (answer !== undefined) throw new MalformedMessage('more than one message answers one request');
        share.take(message.length);
        answer = message;
      },
      ended: (error) => {
        signal.removeEventListener('abort', abort);
        share.release();
        if (error !== undefined) {
          if (answer !== undefined) free(answer);
          reject(error);
        } else if (answer === undefined) reject(new ExchangeError({ kind: 'malformed' }, 'the answer is empty'));
        else resolve(answer);
      },
    });
    const abort = (): void => {
      stream.cancel();
      share.release();
      if (answer !== undefined) free(answer);
      reject(signal.reason);
    };
    signal.addEventListener('abort', abort, { once: true });
    stream.sendLast(request);
  });
}
