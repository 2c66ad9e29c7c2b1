/** Responses that would cost the client much more than the agent. */

import { once } from 'node:events';
import { createServer, get, IncomingMessage, type Server } from 'node:http';

import { systemClock, type TimedCall } from '@incumbent/core';
import { connectSocket } from '@incumbent/network';
import { describe, expect, it } from 'vitest';

import { BodyReaders, TextReader } from '../src/client/body.ts';
import { Client } from '../src/client/client.ts';
import { readKeys } from '../src/protocol/kv.ts';
import { listen, stop } from './fake-agent.ts';

const CALL = { timeoutMs: 30_000 };

interface Agent extends AsyncDisposable {
  readonly client: Client;
}

/**
 * An agent whose response is this piece, again and again, until the client closes the connection.
 */
async function agentSending(piece: string, begin = ''): Promise<Agent> {
  const server = createServer((_, response) => {
    const write = (): void => {
      while (!response.destroyed && response.write(piece));
    };
    response.writeHead(200, { 'x-consul-index': '7' }).write(begin);
    response.on('drain', write).on('error', () => {});
    write();
  });
  return clientOf(server);
}

/** A client of this server. */
async function clientOf(server: Server): Promise<Agent> {
  const endpoint = { host: '127.0.0.1', port: await listen(server) };
  const client = new Client({
    endpoint,
    connect: (to, signal) => connectSocket(to, {}, signal),
    connectTimeoutMs: 3_000,
    clock: systemClock,
    token: undefined,
    scope: {},
  });
  return {
    client,
    [Symbol.asyncDispose]: async () => {
      await client.close();
      await stop(server);
    },
  };
}

const LIST = { path: 'a', recurse: true };

/** The message of the failure to read a list. */
async function listFailure(piece: string, begin: string): Promise<string> {
  await using agent = await agentSending(piece, begin);
  const error: unknown = await readKeys(agent.client, LIST, CALL).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ failure: { kind: 'malformed' } });
  return String(error);
}

describe('a response is refused early', () => {
  it.each([
    ['it arrives in chunks of one byte', 'a', '[{"Key":"', 'pieces of a few bytes'],
    ['one pair of a list is longer than any pair of Consul’s', 'a'.repeat(16_384), '[{"Key":"', 'longer than 1048576 bytes'],
    ['a list has other values than objects', '[],'.repeat(5_000), '[', 'a list of objects was expected'],
    [
      'a list has more pairs than fit into memory',
      '{"Key":"a","CreateIndex":7,"ModifyIndex":7},'.repeat(400),
      '[',
      'more than 8.5 MiB in all',
    ],
  ])('if %s', async (_, piece, begin, message) => {
    expect(await listFailure(piece, begin)).toContain(message);
  });

  it('if it is not a list, and longer than any other response', async () => {
    await using agent = await agentSending(' '.repeat(16_384));
    await expect(agent.client.request({ method: 'GET', path: '/v1/agent/self' }, CALL)).rejects.toThrow('longer than 2097152 bytes');
  });
});

describe('responses longer than 64 KiB', () => {
  const PAIRS = Array.from({ length: 3 }, (_, i) => ({ Key: `a/${i}`, Value: 'a'.repeat(40_000), CreateIndex: 5, ModifyIndex: 7 }));
  const BODY = JSON.stringify(PAIRS);

  interface Slow extends Agent {
    /** Sends the rest of the response to the key `slow`. */
    finishSlow(): void;
    /** Resolves when everything of the response to the key `fast` was sent. */
    readonly fastSent: Promise<void>;
  }

  /** An agent that holds back the end of the list of `slow`. */
  async function slowAgent(): Promise<Slow> {
    const [rest, fastSent] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const server = createServer((request, response) => {
      const { url = '' } = request;
      response.writeHead(200, { 'x-consul-index': '7' });
      if (url.includes('short')) response.end('[]');
      else if (url.includes('fast')) response.end(BODY, () => fastSent.resolve());
      else {
        response.write(BODY.slice(0, 90_000));
        void rest.promise.then(() => response.end(BODY.slice(90_000)));
      }
    });
    const client = await clientOf(server);
    return { ...client, finishSlow: rest.resolve, fastSent: fastSent.promise };
  }

  const list = (client: Client, path: string, options: TimedCall = CALL): Promise<number> =>
    readKeys(client, { path, recurse: true }, options).then(({ length }) => length);

  it('are read one at a time, and shorter ones do not wait for them', async () => {
    await using agent = await slowAgent();
    const ends: string[] = [];
    const [slow, fast] = ['slow', 'fast'].map((path) => list(agent.client, path).finally(() => ends.push(path)));
    await agent.fastSent;
    expect(await list(agent.client, 'short')).toBe(0);
    agent.finishSlow();
    expect(await Promise.all([slow, fast])).toEqual([3, 3]);
    expect(ends).toEqual(['slow', 'fast']);
  });

  it('do not wait for an aborted call, and may themselves be aborted while they wait', async () => {
    await using agent = await slowAgent();
    const [first, second] = [new AbortController(), new AbortController()];
    const slow = list(agent.client, 'slow', { ...CALL, signal: first.signal });
    const waiting = list(agent.client, 'slow', { ...CALL, signal: second.signal });
    const fast = list(agent.client, 'fast');
    await agent.fastSent;
    second.abort('enough');
    await expect(waiting).rejects.toBe('enough');
    first.abort('enough');
    await expect(slow).rejects.toBe('enough');
    expect(await fast).toBe(3);
  });
});

it('frees the chunks of a body, and of its socket, as soon as it has copied them', async () => {
  const length = 2 ** 20;
  const server = createServer((_, response) => response.end('a'.repeat(length)));
  const port = await listen(server);
  const socket = await connectSocket({ host: '127.0.0.1', port }, {}, AbortSignal.timeout(30_000));
  const chunks: Uint8Array[] = [];
  try {
    const request = get({ port, createConnection: () => socket });
    socket.prependListener('data', (chunk: Uint8Array) => chunks.push(chunk));
    const [message] = await once(request, 'response');
    if (!(message instanceof IncomingMessage)) throw new TypeError('no response');
    message.on('data', (chunk: Uint8Array) => chunks.push(chunk));
    const text = await new BodyReaders().read(message, new TextReader());
    expect(text).toBe('a'.repeat(length));
  } finally {
    socket.destroy();
    await stop(server);
  }
  const kept = chunks.slice(2).filter((chunk) => chunk.length >= 4_096);
  expect(chunks.length).toBeGreaterThan(10);
  expect(kept).toEqual([]);
});
