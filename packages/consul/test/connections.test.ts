/**
 * Connections to an agent. Real time: the tests are about the order in which real sockets connect.
 */

import { createServer as createHttpServer } from 'node:http';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { systemClock } from '@incumbent/core';
import type { Endpoint } from '@incumbent/network';
import { freePort, until } from '@incumbent/test-support';
import { describe, expect, it } from 'vitest';

import { Client } from '../src/client/client.ts';
import { listen, startFakeAgent, type Respond } from './fake-agent.ts';

const CALL = { timeoutMs: 5_000 };
const PUT = { method: 'PUT', path: '/v1/it', query: { a: '1 2' }, body: '{"x":"ü"}' } as const;

/** A client, and its sockets. */
function clientOf({ host, port }: Endpoint, delayMs = 0): { client: Client; sockets: Socket[] } {
  const sockets: Socket[] = [];
  const dial = async (): Promise<Socket> => {
    await new Promise((resolve) => void setTimeout(resolve, delayMs));
    const socket = connect({ host, port });
    sockets.push(socket);
    await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    return socket;
  };
  const options = { endpoint: { host, port }, connect: dial, connectTimeoutMs: 3_000, clock: systemClock };
  return { client: new Client({ ...options, token: 'a-token', scope: { dc: 'dc1' } }), sockets };
}

function endpointOf(text: string): Endpoint {
  const [host = '', port = ''] = text.split(':');
  return { host, port: Number(port) };
}

async function gone(sockets: readonly Socket[]): Promise<void> {
  await until(() => sockets.every(({ destroyed }) => destroyed), { what: 'the sockets to be gone' });
}

describe('connections', () => {
  async function agentOf(respond: Respond): Promise<AsyncDisposable & { client: Client; sockets: Socket[]; requests: readonly unknown[] }> {
    const agent = await startFakeAgent(respond);
    const made = clientOf(endpointOf(agent.endpoint));
    return { ...made, requests: agent.requests, [Symbol.asyncDispose]: () => agent[Symbol.asyncDispose]() };
  }

  it.each([200, 500])('closes the connection if a response (%i) does not end', async (status) => {
    const sent = { bytes: 0 };
    const server = createHttpServer((_, response) => {
      response.writeHead(status);
      const chunk = Buffer.alloc(65_536, ' ');
      const write = (): void => {
        while (!response.destroyed && response.write(chunk)) sent.bytes += chunk.length;
      };
      response.on('drain', write).on('error', () => {});
      write();
    });
    const { client, sockets } = clientOf({ host: '127.0.0.1', port: await listen(server) });
    await expect(client.request(PUT, { timeoutMs: 30_000 })).rejects.toMatchObject({ failure: { kind: 'malformed' } });
    await gone(sockets);
    // More than the limit was in the sockets' buffers.
    expect(sent.bytes).toBeLessThan(32 * 2 ** 20);
    await client.close();
    server.close();
  });

  it('sends a request unchanged, and returns its response', async () => {
    await using on = await agentOf(() => ({ status: 418, body: 'täglich'.repeat(50_000), headers: { 'x-consul-index': '7' } }));
    const answer = await on.client.request({ ...PUT, accept: [418] }, CALL);
    expect([answer.status, answer.text, answer.header('x-consul-index'), answer.header('x-none')]).toEqual([
      418,
      'täglich'.repeat(50_000),
      '7',
      undefined,
    ]);
    expect(on.requests).toMatchObject([
      { method: 'PUT', path: '/v1/it', body: PUT.body, headers: { 'x-consul-token': 'a-token', 'content-type': 'application/json' } },
    ]);
    await on.client.close();
    await gone(on.sockets);
  });

  it('sends many requests at a time', async () => {
    await using on = await agentOf(({ path }) => ({ body: path }));
    const paths = Array.from({ length: 40 }, (_each, i) => `/v1/${i}`);
    const answers = await Promise.all(paths.map((path) => on.client.request({ method: 'GET', path }, CALL)));
    expect(answers.map(({ text }) => text)).toEqual(paths);
    await on.client.close();
  });

  it("sends 64 requests at a time, in order, and never delays urgent requests or the store's own", async () => {
    const gate = Promise.withResolvers<void>();
    await using on = await agentOf(async ({ path }) => {
      if (path.startsWith('/v1/holding/')) await gate.promise;
      return { body: path };
    });
    const request = async (path: string): Promise<string> => (await on.client.request({ method: 'GET', path }, CALL)).text;
    const holding = Array.from({ length: 64 }, (_each, i) => request(`/v1/holding/${i}`));
    await until(() => on.requests.length === 64, { what: '64 requests' });
    const waits = [request('/v1/65'), request('/v1/66')];
    const late = on.client.request({ method: 'GET', path: '/v1/late' }, { timeoutMs: 50 });
    await expect(late).rejects.toMatchObject({ failure: { kind: 'timeout', sent: false } });
    await on.client.request({ method: 'PUT', path: '/v1/urgent', urgent: true }, CALL);
    await on.client.request({ method: 'GET', path: '/v1/own' }, { ...CALL, background: true });
    const paths = (): readonly unknown[] => on.requests.slice(64);
    expect(paths()).toMatchObject([{ path: '/v1/urgent' }, { path: '/v1/own' }]);
    gate.resolve();
    await Promise.all([...holding, ...waits]);
    expect(paths().slice(2)).toMatchObject([{ path: '/v1/65' }, { path: '/v1/66' }]);
    await on.client.close();
  });

  it('reuses a connection', async () => {
    await using on = await agentOf(({ path }) => ({ body: path }));
    for (const path of ['/v1/1', '/v1/2', '/v1/3']) expect((await on.client.request({ method: 'GET', path }, CALL)).text).toBe(path);
    expect(on.sockets.length).toBe(1);
    await on.client.close();
    await gone(on.sockets);
  });

  it('opens another if the one that it kept has closed', async () => {
    await using on = await agentOf(({ path }) => ({ body: path }));
    await on.client.request(PUT, CALL);
    on.sockets[0]?.destroy();
    await gone(on.sockets);
    expect((await on.client.request(PUT, CALL)).status).toBe(200);
    expect(on.sockets.length).toBe(2);
    await on.client.close();
  });

  it('reports that nothing was sent if nobody listens', async () => {
    const { client } = clientOf({ host: '127.0.0.1', port: await freePort() });
    await expect(client.request(PUT, CALL)).rejects.toMatchObject({ failure: { kind: 'notConnected' } });
    await client.close();
  });

  it('reports that nothing was sent if the connection took too long, and uses the late connection for the next request', async () => {
    await using agent = await startFakeAgent(() => ({}));
    const { client, sockets } = clientOf(endpointOf(agent.endpoint), 600);
    await expect(client.request(PUT, { timeoutMs: 100 })).rejects.toMatchObject({ failure: { kind: 'timeout', sent: false } });
    await until(() => sockets.length === 1, { what: 'the late connection' });
    expect((await client.request({ ...PUT, path: '/v1/next' }, CALL)).status).toBe(200);
    expect(agent.requests.map(({ path }) => path)).toEqual(['/v1/next']);
    await client.close();
    await gone(sockets);
  });

  it('reports that the request may have been sent if the connection closes before the response', async () => {
    await using on = await agentOf(() => 'reset');
    await expect(on.client.request(PUT, CALL)).rejects.toMatchObject({ failure: { kind: 'cut' } });
    expect(on.requests.length).toBe(1);
    await on.client.close();
  });

  it('stops waiting for a response at the timeout, or when the caller aborts', async () => {
    await using on = await agentOf(() => undefined);
    await expect(on.client.request(PUT, { timeoutMs: 1_000 })).rejects.toMatchObject({ failure: { kind: 'timeout', sent: true } });
    const aborting = new AbortController();
    const requested = on.client.request(PUT, { ...CALL, signal: aborting.signal });
    await until(() => on.requests.length === 2, { what: 'the second request' });
    aborting.abort('enough');
    await expect(requested).rejects.toBe('enough');
    await gone(on.sockets);
    await on.client.close();
  });

  it('fails the requests under way at close, and leaves no socket', async () => {
    await using on = await agentOf(() => undefined);
    const requested = on.client.request(PUT, CALL);
    await until(() => on.requests.length === 1, { what: 'the request' });
    const closing = on.client.close();
    await expect(requested).rejects.toMatchObject({ failure: { kind: 'closed', sent: true } });
    await closing;
    await gone(on.sockets);
    await expect(on.client.request(PUT, CALL)).rejects.toMatchObject({ failure: { kind: 'closed', sent: false } });
  });

  it('leaves no socket if a connection opens at the moment of the close', async () => {
    await using agent = await startFakeAgent(() => undefined);
    const { host, port } = endpointOf(agent.endpoint);
    for (let turns = 0; turns < 10; turns += 1) {
      const socket = connect({ host, port });
      await new Promise((resolve) => void socket.once('connect', resolve));
      const opening = Promise.withResolvers<Socket>();
      const dialed = { endpoint: { host, port }, connect: () => opening.promise, connectTimeoutMs: 3_000, clock: systemClock };
      const client = new Client({ ...dialed, token: undefined, scope: {} });
      const requested = client.request(PUT, CALL).catch(() => {});
      await new Promise((resolve) => void setImmediate(resolve));
      opening.resolve(socket);
      for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
      await client.close();
      await requested;
      await gone([socket]);
    }
  });

  it('reports a closed connection if the server does not speak HTTP', async () => {
    const server: Server = createServer((socket) => void socket.on('data', () => socket.end('SSH-2.0\r\n')).on('error', () => {}));
    const { client } = clientOf({ host: '127.0.0.1', port: await listen(server) });
    await expect(client.request(PUT, CALL)).rejects.toMatchObject({ failure: { kind: 'cut' } });
    await client.close();
    server.close();
  });
});
