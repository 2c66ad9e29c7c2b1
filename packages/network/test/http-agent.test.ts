import { once } from 'node:events';
import http, { createServer } from 'node:http';
import { connect, type Socket } from 'node:net';

import { systemClock } from '@incumbent/core';
import { listenAnywhere } from '@incumbent/test-support';
import { expect, it } from 'vitest';

import { HttpAgent } from '../src/connect/http-agent.ts';
import { ExchangeError } from './errors.ts';

it('reuses no connection whose opening began before retire', async () => {
  const server = createServer((_, response) => response.end('answer'));
  const { port } = await listenAnywhere(server);
  const gate = Promise.withResolvers<void>();
  let opened = 0;
  const open = async (): Promise<Socket> => {
    opened += 1;
    await gate.promise;
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    return socket;
  };
  const agent = new HttpAgent({ open, connectTimeoutMs: 5_000, clock: systemClock, ErrorType: ExchangeError });
  const answer = async (): Promise<void> => {
    const request = http.get({ host: '127.0.0.1', port, agent });
    const [response] = (await once(request, 'response')) as [http.IncomingMessage];
    response.resume();
    await once(response, 'close');
  };
  const first = answer();
  agent.retire();
  gate.resolve();
  await first;
  await answer();
  expect(opened).toBe(2);
  await answer();
  expect(opened).toBe(2);
  await agent.close();
  server.close();
  await once(server, 'close');
});
