/** A store that is closed while its connection opens, or that cannot be opened. */

import type * as Http2 from 'node:http2';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { type Connect, SharedAllowance } from '@incumbent/network';
import { openEtcd } from '@incumbent/etcd';
import { afterEach, expect, it, vi } from 'vitest';

import { Endpoints } from '../../src/client/endpoints.ts';
import { fails, listen, ok, startFakeServer } from '../fake-server.ts';

const opened = vi.hoisted(() => ({ tell: () => {} }));

vi.mock('node:http2', async (importOriginal) => {
  const http2 = await importOriginal<typeof Http2>();
  const connectAndTell = (...args: Parameters<typeof http2.connect>) =>
    http2.connect(...args).once('remoteSettings', () => queueMicrotask(() => opened.tell()));
  return { ...http2, connect: connectAndTell };
});

afterEach(() => {
  vi.useRealTimers();
});

it.each(Array.from({ length: 12 }, (_, turns) => turns))(
  'leaves no socket if it is closed %i turns after the server’s first frame',
  async (turns) => {
    await using server = await startFakeServer(ok());
    const sockets: Socket[] = [];
    const endpoints = endpointsOf(server.port, (endpoint) => {
      const socket = connect(endpoint);
      sockets.push(socket);
      return socket;
    });
    const closing = new Promise<void>((resolve, reject) => {
      opened.tell = () => void later(turns, () => endpoints.close()).then(resolve, reject);
    });
    // A connection that opened before the close is not usable any more.
    const connection = await Promise.resolve(endpoints.connection()).catch(() => undefined);
    await closing;
    await expect.poll(() => sockets.map(({ destroyed }) => destroyed), { timeout: 10_000 }).toEqual([true]);
    expect(connection?.usable ?? false).toBe(false);
  },
);

it.each(Array.from({ length: 12 }, (_, turns) => turns))(
  'leaves no socket if it is closed %i turns after the socket to a silent server has opened',
  async (turns) => {
    const server = createServer(() => {});
    const socket = connect({ host: '127.0.0.1', port: await listen(server) });
    await once(socket, 'connect');
    const opening = Promise.withResolvers<Socket>();
    const endpoints = endpointsOf(1, () => opening.promise);
    const connecting = Promise.resolve(endpoints.connection());
    opening.resolve(socket);
    await later(turns, () => endpoints.close());
    await expect(connecting).rejects.toMatchObject({ failure: { kind: 'closed' } });
    await expect.poll(() => socket.destroyed, { timeout: 10_000 }).toBe(true);
    server.close();
  },
);

it('an opening that fails does not wait until the caller’s byte stream has closed', async () => {
  await using server = await startFakeServer(fails(12, 'unknown service etcdserverpb.Maintenance'));
  const streams: Duplex[] = [];
  // The limit of the wait for the byte stream is never over.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const opening = openEtcd({
    endpoints: [`127.0.0.1:${server.port}`],
    connect: () => {
      const stream = neverClosing(connect({ host: '127.0.0.1', port: server.port }));
      streams.push(stream);
      return stream;
    },
  });
  await expect(opening).rejects.toMatchObject({ code: 'UNSUPPORTED' });
  expect(streams.map(({ destroyed, closed }) => [destroyed, closed])).toEqual([[true, false]]);
});

/** A byte stream over a socket. Its destruction closes the socket, and never completes. */
function neverClosing(socket: Socket): Duplex {
  const stream = new Duplex({
    read: () => {},
    write: (chunk: Uint8Array, _, written) => void socket.write(chunk, written),
    destroy: () => void socket.destroy(),
  });
  socket.on('data', (chunk) => stream.push(chunk));
  socket.on('error', () => {});
  return stream;
}

function endpointsOf(port: number, open: Connect): Endpoints {
  const keepalive = { intervalMs: 10_000, timeoutMs: 3_000 };
  const options = { connect: open, secure: false, keepalive, dialTimeoutMs: 5_000, maxRequests: 1_000, answers: new SharedAllowance() };
  return new Endpoints([{ host: '127.0.0.1', port }], options, 0);
}

async function later(turns: number, task: () => Promise<void>): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
  await task();
}
