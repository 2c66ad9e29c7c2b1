/** A server that sends messages that `pg` cannot read. */

import { once } from 'node:events';
import { createServer } from 'node:net';

import { Pool } from 'pg';
import { expect, it } from 'vitest';

import { openPostgres } from '../src/index.ts';
import { GREETING } from './server-messages.ts';

/** A row of one column that is said to be longer than the message. */
const BAD_ROW = Buffer.from([68, 0, 0, 0, 12, 0, 2, 1, 1, 1, 1, 65, 65]);

/** The type of the message Query. */
const QUERY = 'Q'.charCodeAt(0);

async function startServer(): Promise<AsyncDisposable & { readonly port: number }> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => {
      socket.write(GREETING);
      socket.on('data', (chunk: Buffer) => {
        if (chunk[0] === QUERY) socket.write(BAD_ROW);
      });
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return {
    port: address.port,
    [Symbol.asyncDispose]: async () => {
      server.close();
      await once(server, 'close');
    },
  };
}

it('opening rejects, and the process goes on', async () => {
  await using server = await startServer();
  const opening = openPostgres({ endpoints: [`127.0.0.1:${server.port}`], credentials: { username: 'app' }, connectTimeoutMs: 2_000 });
  await expect(opening).rejects.toMatchObject({ name: 'StoreError', code: expect.stringMatching(/^[A-Z_]+$/) });
});

it('opening on a pool of the application rejects, and the process goes on', async () => {
  await using server = await startServer();
  const pool = new Pool({ host: '127.0.0.1', port: server.port, user: 'app', max: 3 });
  const opening = openPostgres({ pool, connectTimeoutMs: 2_000 });
  await expect(opening).rejects.toMatchObject({ name: 'StoreError', code: expect.stringMatching(/^[A-Z_]+$/) });
  await pool.end();
  expect(pool.totalCount).toBe(0);
});
