/** A fake HTTP/2 server, for answers that a healthy etcd never gives. */

import { createServer, type Http2Server, type IncomingHttpHeaders, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo, Server } from 'node:net';

import { frame } from '../src/protocol/frame.ts';
import { Writer } from '../src/protocol/protobuf.ts';

export type Answer = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void;

export interface FakeServer extends AsyncDisposable {
  readonly port: number;
  readonly sessions: readonly ServerHttp2Session[];
  /** The `:path` of every request so far. */
  readonly requests: readonly string[];
  answer: Answer;
}

const GRPC = { ':status': 200, 'content-type': 'application/grpc' } as const;

/** A Range answer of no keys. */
export const EMPTY_RANGE: Uint8Array = new Writer().message(1, new Writer().int64(3, 7n)).finish();

/** One answer, and the status OK. */
export function ok(message: Uint8Array = EMPTY_RANGE): Answer {
  return raw([frame(message)], { 'grpc-status': '0' });
}

/** Sends these bytes, then the trailers. Without trailers, resets the stream. */
export function raw(chunks: readonly Uint8Array[], trailers?: Record<string, string>): Answer {
  return (stream) => {
    stream.respond(GRPC, { waitForTrailers: true });
    stream.on('wantTrailers', () => (trailers === undefined ? stream.close(2) : stream.sendTrailers(trailers)));
    for (const chunk of chunks) stream.write(chunk);
    stream.end();
  };
}

/** A status in the headers only, as etcd answers a call that fails at once. */
export function fails(status: number, message: string): Answer {
  return (stream) => stream.respond({ ...GRPC, 'grpc-status': String(status), 'grpc-message': message }, { endStream: true });
}

/** A status of HTTP, from a server or a gateway that does not speak gRPC. */
export function http(status: number): Answer {
  return (stream) => stream.respond({ ':status': status }, { endStream: true });
}

export async function startFakeServer(answer: Answer): Promise<FakeServer> {
  const http2 = createServer();
  const sessions: ServerHttp2Session[] = [];
  const requests: string[] = [];
  const fake = { sessions, requests, answer, port: 0, [Symbol.asyncDispose]: () => stop(http2, sessions) };
  http2.on('session', (session) => {
    sessions.push(session);
    session.on('error', () => {});
  });
  http2.on('stream', (stream, headers) => {
    stream.on('error', () => {});
    requests.push(String(headers[':path']));
    fake.answer(stream, headers);
  });
  fake.port = await listen(http2);
  return fake;
}

async function stop(server: Http2Server, sessions: readonly ServerHttp2Session[]): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  for (const session of sessions) session.destroy();
  await closed;
}

export async function listen(server: Server | Http2Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}
