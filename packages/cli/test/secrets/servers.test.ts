/**
 * A unique secret in the URL of every store is in no error, output or event, whether the server is
 * unreachable, refuses, or echoes what it got.
 */

import { createServer as createHttp2, type Http2Server } from 'node:http2';
import { createServer, type Server, type Socket } from 'node:net';

import { failureOf, MARKER, showing, tracesOf } from '@incumbent/test-support/traces';
import { openStore } from 'incumbent';
import { afterEach, describe, expect, it } from 'vitest';

import { EventRecorder } from '../support/event-recorder.ts';
import { TestConsole } from '../support/test-console.ts';

const HOST = '127.0.0.1';
const servers: (Server | Http2Server)[] = [];
const sockets = new Set<Socket>();

afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await Promise.all(servers.splice(0).map((server) => new Promise((resolve) => server.close(resolve))));
});

async function listen(server: Server | Http2Server): Promise<number> {
  servers.push(server);
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, HOST, resolve));
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('the server has no port');
  return address.port;
}

/** What a server answers to the bytes of a request. */
type Answer = (said: Buffer) => string | Buffer;

const answering = async (answer: Answer): Promise<number> =>
  listen(
    createServer((socket) => {
      socket.on('data', (said: Buffer) => socket.write(answer(said)));
    }),
  );

const echo = (said: Buffer): Buffer => said;
const line = (said: Buffer): string => said.toString('latin1').replaceAll(/[\r\n]+/g, ' ');
const redisError: Answer = (said) => `-ERR unknown command 'HELLO', with args beginning with: ${line(said)}\r\n`;
const redisWrong: Answer = (said) => `-WRONGPASS ${line(said)}\r\n`;

function http(status: number): Answer {
  return (said) => {
    const body = `what you said was: ${said.toString('latin1')}`;
    return `HTTP/1.1 ${status} No\r\nContent-Length: ${Buffer.byteLength(body)}\r\nX-Said: ${line(said)}\r\n\r\n${body}`;
  };
}

/** Answers each call with an error of gRPC, whose text is the request. */
async function grpc(status: number): Promise<number> {
  const server = createHttp2();
  server.on('stream', (stream) => {
    const said: Buffer[] = [];
    stream.on('error', () => {});
    stream.on('data', (chunk: Buffer) => said.push(chunk));
    stream.on('end', () => {
      const text = encodeURIComponent(Buffer.concat(said).toString('latin1'));
      stream.respond(
        { ':status': 200, 'content-type': 'application/grpc', 'grpc-status': String(status), 'grpc-message': text },
        { endStream: true },
      );
    });
  });
  return listen(server);
}

const login = `app:${MARKER}@`;
/** The test's name, the beginning of the URL, and what starts the server. */
type Case = readonly [string, string, () => Promise<number>];

const cases: readonly Case[] = [
  ...['redis', 'etcd', 'zookeeper', 'consul'].flatMap((scheme): readonly Case[] => {
    const user = scheme === 'consul' ? `:${MARKER}@` : login;
    return [
      [`${scheme} without a server`, `${scheme}://${user}`, async (): Promise<number> => 1],
      [`${scheme} with TLS, from a server without TLS`, `${scheme}s://${user}`, (): Promise<number> => answering(echo)],
      [`${scheme}, from a server that echoes`, `${scheme}://${user}`, (): Promise<number> => answering(echo)],
      [`${scheme}, from a server that speaks HTTP`, `${scheme}://${user}`, (): Promise<number> => answering(http(400))],
    ];
  }),
  ['postgres without a server', `postgres://${login}`, async (): Promise<number> => 1],
  ['postgres, from a server that echoes', `postgres://${login}`, (): Promise<number> => answering(echo)],
  ['postgres, from a server that speaks HTTP', `postgres://${login}`, (): Promise<number> => answering(http(400))],
  ['redis without HELLO', `redis://${login}`, (): Promise<number> => answering(redisError)],
  ['redis with another password', `redis://${login}`, (): Promise<number> => answering(redisWrong)],
  ...[200, 401, 403, 500].map(
    (status) => [`consul that answers ${status}`, `consul://:${MARKER}@`, (): Promise<number> => answering(http(status))] as const,
  ),
  ...[2, 3, 7, 14, 16].map((status) => [`etcd that answers ${status}`, `etcd://${login}`, (): Promise<number> => grpc(status)] as const),
];

describe('a secret is in no error, output or event', () => {
  it.each(cases)('of %s', async (_, start, serve) => {
    using events = new EventRecorder();
    await using console = new TestConsole();
    const url = `${start}${HOST}:${await serve()}/my-app?connectTimeoutMs=500`;
    const error = await failureOf(() => openStore(url));
    const { out, err, code } = await console.run(['doctor'], { env: { INCUMBENT_STORE: url }, open: openStore });
    expect(code).toBe(3);
    expect(showing([tracesOf(error), out, err, ...events.texts])).toEqual([]);
  });
});
