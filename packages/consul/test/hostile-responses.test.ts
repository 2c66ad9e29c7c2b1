/** Responses that would cost the client much more than the agent. */

import { createServer, type ServerResponse } from 'node:http';

import { systemClock } from '@incumbent/core';
import { connectSocket } from '@incumbent/network';
import { describe, expect, it } from 'vitest';

import { Client } from '../src/client/client.ts';
import { readKeys } from '../src/protocol/kv.ts';
import { listen, stop } from './fake-agent.ts';

const CALL = { timeoutMs: 30_000 };

interface Agent extends AsyncDisposable {
  readonly client: Client;
  /** The bytes of bodies that the agent has written. */
  readonly sentBytes: number;
}

/** An agent whose response is this piece, again and again, until the client closes the connection. */
async function agentSending(piece: string, begin = ''): Promise<Agent> {
  let sentBytes = 0;
  const write = (response: ServerResponse): void => {
    while (!response.destroyed) {
      sentBytes += piece.length;
      if (!response.write(piece)) return;
    }
  };
  const server = createServer((_, response) => {
    response.writeHead(200, { 'x-consul-index': '7' }).write(begin);
    response.on('drain', () => write(response)).on('error', () => {});
    write(response);
  });
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
    get sentBytes() {
      return sentBytes;
    },
    [Symbol.asyncDispose]: async () => {
      await client.close();
      await stop(server);
    },
  };
}

const MALFORMED = { failure: { kind: 'malformed' } };

describe('a response is refused early', () => {
  it('if it arrives in chunks of one byte', async () => {
    await using agent = await agentSending('a', '[{"Key":"');
    const reading = readKeys(agent.client, { path: 'a', recurse: true }, {}, CALL);
    await expect(reading).rejects.toMatchObject(MALFORMED);
    await expect(reading).rejects.toThrow('pieces');
    expect(agent.sentBytes).toBeLessThan(2 ** 20);
  });

  it('if one pair of a list is longer than any pair of Consul’s', async () => {
    await using agent = await agentSending('a'.repeat(16_384), '[{"Key":"');
    await expect(readKeys(agent.client, { path: 'a', recurse: true }, {}, CALL)).rejects.toMatchObject(MALFORMED);
    // More than the limit was in the sockets' buffers.
    expect(agent.sentBytes).toBeLessThan(7 * 2 ** 20);
  });

  it('if a list has other values than objects', async () => {
    await using agent = await agentSending('[],'.repeat(5_000), '[');
    await expect(readKeys(agent.client, { path: 'a', recurse: true }, {}, CALL)).rejects.toMatchObject(MALFORMED);
    expect(agent.sentBytes).toBeLessThan(7 * 2 ** 20);
  });

  it('if a list has more pairs than fit into memory', async () => {
    const pair = '{"Key":"a","CreateIndex":7,"ModifyIndex":7},';
    await using agent = await agentSending(pair.repeat(400), '[');
    const reading = readKeys(agent.client, { path: 'a', recurse: true }, {}, CALL);
    await expect(reading).rejects.toThrow('too many items');
  });

  it('if it is not a list, and longer than any other response', async () => {
    await using agent = await agentSending(' '.repeat(16_384));
    await expect(agent.client.request({ method: 'GET', path: '/v1/agent/self' }, CALL)).rejects.toMatchObject(MALFORMED);
    expect(agent.sentBytes).toBeLessThan(7 * 2 ** 20);
  });
});
