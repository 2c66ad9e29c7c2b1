/** A store that is closed in the moment in which its connection opens. */

import type * as Http2 from 'node:http2';
import { connect, type Socket } from 'node:net';
import { SharedAllowance } from '@incumbent/network';
import { expect, it, vi } from 'vitest';

import { Endpoints } from '../../src/client/endpoints.ts';
import { ok, startFakeServer } from '../fake-server.ts';

const opened = vi.hoisted(() => ({ tell: () => {} }));

vi.mock('node:http2', async (importOriginal) => {
  const http2 = await importOriginal<typeof Http2>();
  const connectAndTell = (...args: Parameters<typeof http2.connect>) =>
    http2.connect(...args).once('remoteSettings', () => queueMicrotask(() => opened.tell()));
  return { ...http2, connect: connectAndTell };
});

it.each(Array.from({ length: 12 }, (_, turns) => turns))(
  'leaves no socket where it is closed %i turns after the server’s first word',
  async (turns) => {
    await using server = await startFakeServer(ok());
    const sockets: Socket[] = [];
    const endpoints = new Endpoints(
      [{ host: '127.0.0.1', port: server.port }],
      {
        connect: (endpoint) => {
          const socket = connect(endpoint);
          sockets.push(socket);
          return socket;
        },
        secure: false,
        keepalive: { intervalMs: 10_000, timeoutMs: 3_000 },
        dialTimeoutMs: 5_000,
        maxRequests: 1_000,
        answers: new SharedAllowance(),
      },
      0,
    );
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

async function later(turns: number, task: () => Promise<void>): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
  await task();
}
