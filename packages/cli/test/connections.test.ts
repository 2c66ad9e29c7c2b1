import { connect, createServer, type Socket } from 'node:net';

import { listenAnywhere } from '@incumbent/test-support';
import { expect, it } from 'vitest';

import { connectionsWithin, limitConnections } from '../src/common/connections.ts';

it.each([
  [Infinity, 25_000],
  [1_048_576, 25_000],
  [1_024, 924],
  [200, 100],
  [64, 32],
])('a process that may open %d files accepts %d connections', (files, connections) => {
  expect(connectionsWithin(25_000, files)).toBe(connections);
});

it('a server that closes connections because there are too many says so once', async () => {
  const messages: string[] = [];
  const accepted: Socket[] = [];
  const server = createServer((socket) => void accepted.push(socket));
  limitConnections(server, 2, (message) => void messages.push(message));
  const { port } = await listenAnywhere(server);
  const clients = Array.from({ length: 5 }, () =>
    connect(port, '127.0.0.1')
      .on('error', () => {})
      .resume(),
  );
  let closed = 0;
  await new Promise<void>((resolve) => {
    for (const client of clients) client.on('close', () => (closed += 1) === 3 && resolve());
  });
  expect(messages).toEqual(['2 connections are open, and the server accepts no more']);
  for (const socket of [...clients, ...accepted]) socket.destroy();
  server.close();
});
