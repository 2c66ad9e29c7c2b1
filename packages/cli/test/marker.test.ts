/** A unique secret, given to every store: nothing that an unreachable, a refusing or an echoing server leads to has it. */

import { createServer as createHttp2, type Http2Server } from 'node:http2';
import { createServer, type Server, type Socket } from 'node:net';
import diagnosticsChannel from 'node:diagnostics_channel';

import type { TelemetryEvent } from '@incumbent/core';
import { openStore } from 'incumbent';
import { afterEach, describe, expect, it } from 'vitest';

import { Console } from './support/console.ts';
import { failureOf, MARKER, tracesOf } from './support/traces.ts';

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
/** What it is of, how the URL begins, and what starts the server. */
type Case = readonly [string, string, () => Promise<number>];

const cases: readonly Case[] = [
  ...['redis', 'etcd', 'zookeeper', 'consul'].flatMap((scheme): readonly Case[] => {
    const user = scheme === 'consul' ? `:${MARKER}@` : login;
    return [
      [`${scheme}, and nothing listens`, `${scheme}://${user}`, async (): Promise<number> => 1],
      [`${scheme}, and TLS is not spoken`, `${scheme}s://${user}`, (): Promise<number> => answering(echo)],
      [`${scheme}, and the server echoes`, `${scheme}://${user}`, (): Promise<number> => answering(echo)],
      [`${scheme}, and the server speaks HTTP`, `${scheme}://${user}`, (): Promise<number> => answering(http(400))],
    ];
  }),
  ['redis without HELLO', `redis://${login}`, (): Promise<number> => answering(redisError)],
  ['redis with another password', `redis://${login}`, (): Promise<number> => answering(redisWrong)],
  ...[200, 401, 403, 500].map(
    (status) => [`consul that answers ${status}`, `consul://:${MARKER}@`, (): Promise<number> => answering(http(status))] as const,
  ),
  ...[2, 3, 7, 14, 16].map((status) => [`etcd that answers ${status}`, `etcd://${login}`, (): Promise<number> => grpc(status)] as const),
];

/** Every event: a new one that is missing here is an error of its type. */
const events: Readonly<Record<TelemetryEvent, true>> = {
  sessionOpened: true,
  sessionRenewed: true,
  sessionSuspect: true,
  sessionRecovered: true,
  sessionEnded: true,
  loopLag: true,
  duplicateMember: true,
  joined: true,
  waiting: true,
  elected: true,
  ended: true,
  released: true,
  stuck: true,
  unstuck: true,
  workFailed: true,
  evicted: true,
  retry: true,
  watchStale: true,
  foreignData: true,
  groupLeft: true,
  rebalanced: true,
  handoverRequested: true,
  subscriberFailed: true,
  storeEndsEarly: true,
  reaperReady: true,
  reaperLost: true,
  observed: true,
  messageRefused: true,
  connectionRefused: true,
  peerConnected: true,
  peerDisconnected: true,
  peerFailed: true,
  peerConflict: true,
  membersChanged: true,
  seedsFailed: true,
};

describe('a secret is in no error, output or event', () => {
  it.each(cases)('of %s', async (_, start, serve) => {
    const heard: string[] = [];
    const listener = (message: unknown): void => void heard.push(tracesOf(message));
    const channels = Object.keys(events).map((name) => diagnosticsChannel.channel(`incumbent:${name}`));
    for (const channel of channels) channel.subscribe(listener);
    await using desk = new Console();
    const url = `${start}${HOST}:${await serve()}/my-app?connectTimeoutMs=500`;
    const error = await failureOf(() => openStore(url));
    const { out, err, code } = await desk.ask(['doctor'], { env: { INCUMBENT_STORE: url }, open: openStore });
    for (const channel of channels) channel.unsubscribe(listener);
    expect(code).toBe(3);
    for (const text of [tracesOf(error), out, err, ...heard]) {
      expect(text).not.toContain(MARKER);
      expect(text).not.toContain(Buffer.from(MARKER).toString('hex'));
      expect(text).not.toContain(Buffer.from(MARKER).toString('base64').slice(0, 12));
    }
  });
});
