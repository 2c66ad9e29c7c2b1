/** Real sockets, and the servers behind them. */

import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import { useTestSockets } from '@incumbent/test-support/test-sockets';
import { describe, expect, it } from 'vitest';

import { systemClock, systemRandom } from '@incumbent/core';
import { connectSocket, type Endpoint, SharedAllowance, type TlsOptions } from '@incumbent/network';

import { toStoreError } from '../../src/errors.ts';
import { openSession, type SessionOptions } from '../../src/client/session.ts';

const { servers, listen } = useTestSockets();

function optionsFor(endpoint: Endpoint, tls?: TlsOptions): SessionOptions {
  return {
    clock: systemClock,
    random: systemRandom,
    endpoints: [endpoint],
    connect: (server, signal) => connectSocket(server, { tls }, signal),
    connectTimeoutMs: 300,
    handshakeTimeoutMs: 300,
    answers: new SharedAllowance(),
    timeoutMs: 4_000,
    auths: [],
  };
}

async function openingFails(endpoint: Endpoint, tls?: TlsOptions): Promise<unknown> {
  return openSession(optionsFor(endpoint, tls), { timeoutMs: 5_000 }).catch((error: unknown) => toStoreError(error, 'open'));
}

function unreachable(reason: string): object {
  return { code: 'UNREACHABLE', outcome: 'notSent', message: expect.stringContaining(reason) };
}

describe('a port', () => {
  it('on which nobody listens is unreachable, and the message names it once', async () => {
    const endpoint = await listen(createServer());
    await new Promise((resolve) => servers.pop()!.close(resolve));
    const message = `zookeeper open: connect ECONNREFUSED ${endpoint.host}:${endpoint.port}`;
    expect(await openingFails(endpoint)).toMatchObject({ code: 'UNREACHABLE', outcome: 'notSent', message });
  });

  it('that accepts and sends nothing is reported as silent', async () => {
    const endpoint = await listen(createServer());
    expect(await openingFails(endpoint)).toMatchObject(unreachable('said nothing for 300 ms'));
  });

  it('that accepts and sends nothing is reported as unreachable with TLS', async () => {
    const endpoint = await listen(createServer());
    expect(await openingFails(endpoint, {})).toMatchObject(unreachable('not connected within 300 ms'));
  });

  it('of an HTTP server is not ZooKeeper, in plain text and with TLS', async () => {
    const endpoint = await listen(createHttpServer());
    expect(await openingFails(endpoint)).toMatchObject({
      code: 'UNSUPPORTED',
      outcome: 'refused',
      message: expect.stringContaining('no ZooKeeper'),
    });
    expect(await openingFails(endpoint, {})).toMatchObject({ code: 'UNSUPPORTED', outcome: 'refused' });
  });

  it('that resets connections is unreachable', async () => {
    const endpoint = await listen(createServer((socket) => socket.once('data', () => socket.resetAndDestroy())));
    expect(await openingFails(endpoint)).toMatchObject(unreachable('ECONNRESET'));
  });
});
