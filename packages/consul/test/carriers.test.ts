/** What both ways to an agent have in common: the pool of a store, and the single connections of a reaper. */

import { connect, createServer, type Server, type Socket } from 'node:net';
import { systemClock } from '@incumbent/core';
import type { Endpoint } from '@incumbent/network';
import { freePort, until } from '@incumbent/test-support';
import { describe, expect, it } from 'vitest';

import type { Carrier } from '../src/http/carrier.ts';
import { Client } from '../src/http/client.ts';
import type { DialOptions } from '../src/http/dialler.ts';
import { Pooled } from '../src/http/pooled.ts';
import { Single } from '../src/http/single.ts';
import { listen, startFakeAgent, type Answer } from './fake-agent.ts';

const carriers: Readonly<Record<string, (options: DialOptions) => Carrier>> = {
  Pooled: (options) => new Pooled(options),
  Single: (options) => new Single(options),
};

const CALL = { timeoutMs: 5_000 };
const PUT = { method: 'PUT', path: '/v1/it', query: { a: '1 2' }, body: '{"x":"ü"}' } as const;

/** A client whose sockets are known. */
function clientOf(make: (options: DialOptions) => Carrier, { host, port }: Endpoint, delayMs = 0): { client: Client; sockets: Socket[] } {
  const sockets: Socket[] = [];
  const dial = async (): Promise<Socket> => {
    await new Promise((resolve) => void setTimeout(resolve, delayMs));
    const socket = connect({ host, port });
    sockets.push(socket);
    await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    return socket;
  };
  const options = { endpoint: { host, port }, connect: dial, connectTimeoutMs: 3_000, clock: systemClock };
  return { client: new Client({ token: 'a-token', scope: { dc: 'dc1' }, clock: systemClock }, make(options)), sockets };
}

function endpointOf(text: string): Endpoint {
  const [host = '', port = ''] = text.split(':');
  return { host, port: Number(port) };
}

async function gone(sockets: readonly Socket[]): Promise<void> {
  await until(() => sockets.every(({ destroyed }) => destroyed), { what: 'the sockets to be gone', withinMs: 5_000 });
}

describe.each(Object.entries(carriers))('%s', (_, make) => {
  async function agentOf(answer: Answer): Promise<AsyncDisposable & { client: Client; sockets: Socket[]; asked: readonly unknown[] }> {
    const agent = await startFakeAgent(answer);
    const made = clientOf(make, endpointOf(agent.endpoint));
    return { ...made, asked: agent.asked, [Symbol.asyncDispose]: () => agent[Symbol.asyncDispose]() };
  }

  it('carries a request as it is, and its answer', async () => {
    await using on = await agentOf(() => ({ status: 418, body: 'täglich'.repeat(50_000), headers: { 'x-consul-index': '7' } }));
    const answer = await on.client.request({ ...PUT, answers: [418] }, CALL);
    expect([answer.status, answer.text, answer.header('x-consul-index'), answer.header('x-none')]).toEqual([
      418,
      'täglich'.repeat(50_000),
      '7',
      undefined,
    ]);
    expect(on.asked).toMatchObject([
      { method: 'PUT', path: '/v1/it', body: PUT.body, headers: { 'x-consul-token': 'a-token', 'content-type': 'application/json' } },
    ]);
    await on.client.close();
    await gone(on.sockets);
  });

  it('carries many at a time', async () => {
    await using on = await agentOf(({ path }) => ({ body: path }));
    const paths = Array.from({ length: 40 }, (_each, i) => `/v1/${i}`);
    const answers = await Promise.all(paths.map((path) => on.client.request({ method: 'GET', path }, CALL)));
    expect(answers.map(({ text }) => text)).toEqual(paths);
    await on.client.close();
  });

  it('says that nothing was sent where nobody listens', async () => {
    const { client } = clientOf(make, { host: '127.0.0.1', port: await freePort() });
    await expect(client.request(PUT, CALL)).rejects.toMatchObject({ failure: { kind: 'notConnected' } });
    await client.close();
  });

  it('says that nothing was sent where the connection took too long, and drops it when it comes', async () => {
    await using agent = await startFakeAgent(() => ({}));
    const { client, sockets } = clientOf(make, endpointOf(agent.endpoint), 600);
    await expect(client.request(PUT, { timeoutMs: 100 })).rejects.toMatchObject({ failure: { kind: 'timeout', sent: false } });
    await until(() => sockets.length === 1, { what: 'the late connection', withinMs: 5_000 });
    await gone(sockets);
    expect(agent.asked).toEqual([]);
    await client.close();
  });

  it('says that it may have been sent where the connection ends before the answer', async () => {
    await using on = await agentOf(() => 'reset');
    await expect(on.client.request(PUT, CALL)).rejects.toMatchObject({ failure: { kind: 'cut' } });
    expect(on.asked.length).toBe(1);
    await on.client.close();
  });

  it('gives up an answer that does not come, whole, or when the caller has enough', async () => {
    await using on = await agentOf(() => undefined);
    await expect(on.client.request(PUT, { timeoutMs: 1_000 })).rejects.toMatchObject({ failure: { kind: 'timeout', sent: true } });
    const enough = new AbortController();
    const asked = on.client.request(PUT, { ...CALL, signal: enough.signal });
    await until(() => on.asked.length === 2, { what: 'the second request', withinMs: 5_000 });
    enough.abort('enough');
    await expect(asked).rejects.toBe('enough');
    // A pool keeps a connection or two at hand.
    await until(() => on.sockets.filter(({ destroyed }) => !destroyed).length <= 2, { what: 'the sockets to be gone', withinMs: 5_000 });
    await on.client.close();
    await gone(on.sockets);
  });

  it('fails what is under way when it is closed, and leaves nothing', async () => {
    await using on = await agentOf(() => undefined);
    const asked = on.client.request(PUT, CALL);
    await until(() => on.asked.length === 1, { what: 'the request', withinMs: 5_000 });
    const closing = on.client.close();
    await expect(asked).rejects.toMatchObject({ failure: { kind: 'closed', sent: true } });
    await closing;
    await gone(on.sockets);
    await expect(on.client.request(PUT, CALL)).rejects.toMatchObject({ failure: { kind: 'closed', sent: false } });
  });

  it('says that what answers is none where it speaks no HTTP', async () => {
    const server: Server = createServer((socket) => void socket.on('data', () => socket.end('SSH-2.0\r\n')).on('error', () => {}));
    const { client } = clientOf(make, { host: '127.0.0.1', port: await listen(server) });
    await expect(client.request(PUT, CALL)).rejects.toMatchObject({ failure: { kind: 'cut' } });
    await client.close();
    server.close();
  });
});
