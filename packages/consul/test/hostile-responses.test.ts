/** Responses that would cost the client much more than the agent. */

import { createServer } from 'node:http';

import { systemClock } from '@incumbent/core';
import { connectSocket } from '@incumbent/network';
import { describe, expect, it } from 'vitest';

import { Client } from '../src/client/client.ts';
import { readKeys } from '../src/protocol/kv.ts';
import { listen, stop } from './fake-agent.ts';

const CALL = { timeoutMs: 30_000 };

interface Agent extends AsyncDisposable {
  readonly client: Client;
}

/** An agent whose response is this piece, again and again, until the client closes the connection. */
async function agentSending(piece: string, begin = ''): Promise<Agent> {
  const server = createServer((_, response) => {
    const write = (): void => {
      while (!response.destroyed && response.write(piece));
    };
    response.writeHead(200, { 'x-consul-index': '7' }).write(begin);
    response.on('drain', write).on('error', () => {});
    write();
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
  const error: unknown = await readKeys(agent.client, LIST, {}, CALL).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ failure: { kind: 'malformed' } });
  return String(error);
}

describe('a response is refused early', () => {
  it.each([
    ['it arrives in chunks of one byte', 'a', '[{"Key":"', 'pieces of a few bytes'],
    ['one pair of a list is longer than any pair of Consul’s', 'a'.repeat(16_384), '[{"Key":"', 'longer than 1048576 bytes'],
    ['a list has other values than objects', '[],'.repeat(5_000), '[', 'a list of objects was expected'],
    ['a list has more pairs than fit into memory', '{"Key":"a","CreateIndex":7,"ModifyIndex":7},'.repeat(400), '[', 'too many items'],
  ])('if %s', async (_, piece, begin, message) => {
    expect(await listFailure(piece, begin)).toContain(message);
  });

  it('if it is not a list, and longer than any other response', async () => {
    await using agent = await agentSending(' '.repeat(16_384));
    await expect(agent.client.request({ method: 'GET', path: '/v1/agent/self' }, CALL)).rejects.toThrow('longer than 2097152 bytes');
  });
});
