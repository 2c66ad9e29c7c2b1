import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { freePort, LOOPBACK } from '../src/index.ts';
import { listen } from '../src/ports.ts';
import { reset } from '../src/proxy/reset.ts';

let server: Server;
let client: Socket;

beforeEach(async () => {
  const port = await freePort();
  server = createServer({ allowHalfOpen: true }, (socket) => socket.on('error', () => {}));
  await listen(server, port);
  client = connect({ host: LOOPBACK, port, allowHalfOpen: true });
});

afterEach(() => {
  client.destroy();
  server.close();
});

/** The server's side of the connection, when both sides are open. */
async function accepted(): Promise<Socket> {
  const [[socket]] = await Promise.all([once(server, 'connection'), once(client, 'connect')]);
  return socket;
}

function closeOf(socket: Socket): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let how = 'closed';
  socket.on('error', (error: NodeJS.ErrnoException) => (how = error.code ?? error.message));
  socket.on('close', () => resolve(how));
  socket.resume();
  return promise;
}

describe('a reset', () => {
  test('closes a connection that is open, and its other side sees a reset', async () => {
    const other = closeOf(await accepted());
    const here = closeOf(client);
    reset(client);
    await expect(here).resolves.toBe('closed');
    await expect(other).resolves.toBe('ECONNRESET');
  });

  test('closes a connection that is just being ended', async () => {
    const socket = await accepted();
    const here = closeOf(client);
    client.end();
    await Promise.resolve();
    reset(client);
    await expect(here).resolves.toBe('closed');
    socket.destroy();
  });

  test('closes a connection whose bytes nobody reads', async () => {
    const socket = await accepted();
    const here = closeOf(client);
    socket.pause();
    client.write(Buffer.alloc(50_000_000));
    await sleep(100);
    expect(client.writableLength).toBeGreaterThan(0);
    reset(client);
    await expect(here).resolves.toBe('closed');
    socket.destroy();
  });

  test('closes one that has no connection yet', async () => {
    const here = closeOf(client);
    reset(client);
    await expect(here).resolves.toBe('closed');
  });

  test('of one that is closed does nothing', async () => {
    await accepted();
    reset(client);
    await closeOf(client);
    reset(client);
    expect(client.destroyed).toBe(true);
  });
});
