/** A client of one address, behind which there may be several servers. */

import { connect, createServer as createTcpServer, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';

import { clientOf, closeClients, read, silent, SOON } from '../client-of.ts';
import { fails, listen, ok, startFakeServer, type Answer, type FakeServer } from '../fake-server.ts';

afterEach(closeClients);

describe('a single address', () => {
  /** A server of which only the first connection is bad. */
  async function startBadFirst(bad: Answer): Promise<FakeServer> {
    const server = await startFakeServer((stream, headers) => {
      const isFirst = stream.session === server.sessions[0];
      (isFirst ? bad : ok())(stream, headers);
    });
    return server;
  }

  it('gets a new connection after one that answers pings but no call', async () => {
    await using server = await startBadFirst(silent);
    const client = clientOf([server.port]);
    await expect(read(client, 1_200)).rejects.toMatchObject({ code: 'TIMEOUT' });
    for (let i = 0; i < 3; i += 1) await read(client);
    expect([server.sessions.length, server.requests.length]).toEqual([2, 4]);
    // The first connection is given up once nobody waits on it.
    await expect.poll(() => server.sessions[0]?.destroyed, SOON).toBe(true);
  });

  it('gets a new connection after one whose server has lost the leader', async () => {
    await using server = await startBadFirst(fails(14, 'etcdserver: no leader'));
    const client = clientOf([server.port]);
    const codeOf = (): Promise<unknown> =>
      read(client).then(
        () => undefined,
        (error: unknown) => error,
      );
    await expect.poll(codeOf, SOON).toBe(undefined);
    expect(server.sessions.length).toBe(2);
  });

  it('is not dialled again and again while every server has lost the leader', async () => {
    await using server = await startFakeServer(fails(14, 'etcdserver: no leader'));
    const client = clientOf([server.port]);
    const startedAt = performance.now();
    for (let i = 0; i < 50; i += 1) await expect(read(client)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    // One a second at most.
    expect(server.sessions.length).toBeLessThanOrEqual(1 + (performance.now() - startedAt) / 1_000);
    expect(server.requests.length).toBe(50);
  });

  it('is dialled a second time while a first connection was accepted and not answered', async () => {
    await using server = await startFakeServer(ok());
    const accepted: Socket[] = [];
    const balancer = createTcpServer((socket) => {
      socket.on('error', () => {});
      if (accepted.push(socket) > 1) socket.pipe(connect(server.port, '127.0.0.1')).pipe(socket);
      else socket.resume();
    });
    const client = clientOf([await listen(balancer)], { dialTimeoutMs: 60_000 });
    await read(client, 30_000);
    expect(accepted.length).toBe(2);
    // The first one is given up.
    await expect.poll(() => accepted[0]?.closed, SOON).toBe(true);
    await client.close();
    balancer.close();
  });
});
