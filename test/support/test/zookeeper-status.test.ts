import { createServer, type Socket } from 'node:net';

import { afterEach, expect, test } from 'vitest';

import { freePort, listen } from '../src/ports.ts';
import { isServing } from '../src/servers/zookeeper/status.ts';

const STATUS = 'Zookeeper version: 3.9.3-1\nMode: standalone\n';

const open: AsyncDisposable[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server[Symbol.asyncDispose]()));
});

/** A server that says that it serves, and does this with whoever asks for a session. */
async function fakeServer(onSession: (socket: Socket) => void): Promise<{ url: string }> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', (asked) => (asked.toString() === 'srvr' ? socket.end(STATUS) : onSession(socket)));
  });
  open.push(server);
  const port = await freePort();
  await listen(server, port);
  return { url: `zookeeper://127.0.0.1:${port}` };
}

function answerTo(grantedMs: number): Buffer {
  const answer = Buffer.alloc(40);
  answer.writeInt32BE(36);
  answer.writeInt32BE(grantedMs, 8);
  return answer;
}

test('a ZooKeeper that grants a session serves', async () => {
  expect(await isServing(await fakeServer((socket) => socket.end(answerTo(4_000))))).toBe(true);
});

test('a ZooKeeper that answers the administrator, and closes the connections of clients, does not serve', async () => {
  expect(await isServing(await fakeServer((socket) => socket.end()))).toBe(false);
});

test('a ZooKeeper that refuses sessions does not serve', async () => {
  expect(await isServing(await fakeServer((socket) => socket.end(answerTo(0))))).toBe(false);
});
