/** On sockets, with a server in this process. */

import { createServer, type IncomingMessage } from 'node:http';

import { systemClock } from '@incumbent/core';
import { connectSocket } from '@incumbent/network';
import { listenAnywhere } from '@incumbent/test-support';
import { expect, it, onTestFinished } from 'vitest';

import { Client } from '../src/client/client.ts';

const REQUEST = { method: 'PUT', path: '/v1/it' } as const;

it('after all idle connections became silent, one timeout suffices', async () => {
  const sockets = new Set<IncomingMessage['socket']>();
  const silent = new WeakSet<IncomingMessage['socket']>();
  const server = createServer(({ socket }, response) => {
    sockets.add(socket);
    if (!silent.has(socket)) response.end('{}');
  });
  const { port } = await listenAnywhere(server);
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const client = new Client({
    endpoint: { host: '127.0.0.1', port },
    connect: (endpoint, signal) => connectSocket(endpoint, {}, signal),
    connectTimeoutMs: 5_000,
    clock: systemClock,
    token: 'a-token',
    scope: {},
  });
  await Promise.all([0, 1, 2].map(() => client.request(REQUEST, { timeoutMs: 5_000 })));
  expect(sockets.size).toBe(3);
  for (const socket of sockets) silent.add(socket);
  await expect(client.request(REQUEST, { timeoutMs: 50 })).rejects.toMatchObject({ failure: { kind: 'timeout' } });
  await expect(client.request(REQUEST, { timeoutMs: 5_000 })).resolves.toMatchObject({ status: 200 });
  expect(sockets.size).toBe(4);
  await client.close();
});
