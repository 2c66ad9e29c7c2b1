/** One gRPC exchange on a session: messages out, messages in, and how it ended. */

import {
  constants,
  type ClientHttp2Stream,
  type IncomingHttpHeaders,
  type IncomingHttpStatusHeader,
  type OutgoingHttpHeaders,
} from 'node:http2';

import { Deframer, free, TinyPieces } from '@incumbent/network';

import { ExchangeError, type Failure } from './exchange-error.ts';
import { frame, GRPC_FRAMING } from '../protocol/frame.ts';
import type { Session } from './http2-connection.ts';
import { MalformedMessage } from '../protocol/protobuf.ts';

const { NGHTTP2_CANCEL, NGHTTP2_REFUSED_STREAM } = constants;

const STATUS_OK = 0;

export interface StreamHandlers {
  /** A message came. What it throws ends the stream, as `malformed`. */
  message(message: Uint8Array): void;
  /** Called once, at the end; not after `cancel`. Without an error, the server has ended the stream with the status OK. */
  ended(error: ExchangeError | undefined): void;
}

export class GrpcStream {
  readonly #session: Session;
  readonly #stream: ClientHttp2Stream;
  readonly #handlers: StreamHandlers;
  readonly #deframer: Deframer;
  #httpStatus: number | undefined;
  /** Whether the answer says of itself that it is gRPC. */
  #isGrpc = false;
  #status: { readonly code: number; readonly reason: string } | undefined;
  #cause: Error | undefined;
  #over = false;

  /** Throws an `ExchangeError` if the session has ended: then nothing was sent. */
  constructor(session: Session, path: string, headers: OutgoingHttpHeaders, handlers: StreamHandlers) {
    this.#handlers = handlers;
    this.#session = session;
    this.#deframer = new Deframer(GRPC_FRAMING, session.answers);
    this.#stream = session.request({ ':path': path, ...headers });
    this.#stream.on('response', (received) => this.#onHeaders(received));
    this.#stream.on('trailers', (received: IncomingHttpHeaders) => {
      this.#onStatus(received);
      // Node tells of the end a while after the last that comes.
      if (this.#status !== undefined && this.#stream.readableLength === 0) this.#end();
    });
    this.#stream.on('data', (chunk: Uint8Array) => this.#onData(chunk));
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

  /** Sends one more message, the last. */
  sendLast(message: Uint8Array): void {
    this.#stream.end(frame(message));
  }

  /** Tells the server that nobody waits any more. Nothing is heard of the stream after it. */
  cancel(): void {
    this.#over = true;
    this.#deframer.close();
    this.#stream.close(NGHTTP2_CANCEL);
  }

  #onHeaders(received: IncomingHttpHeaders & IncomingHttpStatusHeader): void {
    this.#httpStatus = received[':status'];
    this.#isGrpc = received['content-type']?.startsWith('application/grpc') ?? false;
    // A call that fails at once is answered in the headers alone.
    this.#onStatus(received);
  }

  #onStatus(received: IncomingHttpHeaders): void {
    const code = Number(received['grpc-status'] ?? Number.NaN);
    if (Number.isInteger(code)) this.#status = { code, reason: decodeReason(received['grpc-message']) };
  }

  #onData(chunk: Uint8Array): void {
    if (this.#over || !this.#isGrpc) return;
    try {
      for (const message of this.#deframer.push(chunk)) this.#handlers.message(message);
    } catch (error) {
      this.#finish(new ExchangeError({ kind: 'malformed' }, 'the answer cannot be understood', error));
      this.cancel();
      if (error instanceof TinyPieces) this.#session.destroy(error);
    }
  }

  #end(): void {
    const failure = this.#failure();
    this.#finish(failure === undefined ? undefined : new ExchangeError(failure, this.#describe(failure), this.#cause));
  }

  #finish(error: ExchangeError | undefined): void {
    if (this.#over) return;
    this.#over = true;
    this.#deframer.close();
    this.#handlers.ended(error);
  }

  #failure(): Failure | undefined {
    if (this.#status?.code === STATUS_OK) return undefined;
    if (this.#status !== undefined) return { kind: 'status', status: this.#status.code, reason: this.#status.reason };
    if (this.#httpStatus === undefined && this.#isRefused()) return { kind: 'streamRefused' };
    if (this.#httpStatus !== undefined && !this.#isGrpc) return { kind: 'http', httpStatus: this.#httpStatus };
    return { kind: 'cut' };
  }

  #isRefused(): boolean {
    return this.#stream.rstCode === NGHTTP2_REFUSED_STREAM && !this.#session.hasTaken(this.#stream);
  }

  #describe(failure: Failure): string {
    if (failure.kind === 'status') return failure.reason === '' ? `gRPC status ${failure.status}` : failure.reason;
    if (failure.kind === 'http') return `answered with HTTP status ${failure.httpStatus}, and not in gRPC`;
    if (failure.kind === 'streamRefused') return 'the server did not take the request';
    return this.#cause?.message ?? 'the connection was lost';
  }
}

// Percent-encoded by the protocol; kept as it came where it is not.
function decodeReason(value: string | string[] | undefined): string {
  const text = String(value ?? '');
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Sends one request and waits for its one answer. Rejects with an `ExchangeError`, or the signal's reason. */
export function exchange(
  session: Session,
  path: string,
  headers: OutgoingHttpHeaders,
  request: Uint8Array,
  signal: AbortSignal,
): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    let answer: Uint8Array | undefined;
    // A server may withhold the status, which comes after the message.
    const share = session.answers.share();
    const stream = new GrpcStream(session, path, headers, {
      message: (message) => {
        if (answer !== undefined) {
          free(message);
          throw new MalformedMessage('more than one message answers one request');
        }
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
