/** Answers that take more memory than they may, or than is free. */

import type { ServerHttp2Stream } from 'node:http2';
import { connectSocket, SharedAllowance } from '@incumbent/network';
import { describe, expect, it } from 'vitest';

import { openConnection } from '../../src/client/http2-connection.ts';
import { exchange } from '../../src/client/stream.ts';
import { status } from '../../src/protocol/admin.ts';
import { frame } from '../../src/protocol/frame.ts';
import { range } from '../../src/protocol/kv.ts';
import { startFakeServer, type Answer } from '../fake-server.ts';

const { signal } = new AbortController();

/** The header of a message of so many bytes. */
function announce(bytes: number): Uint8Array {
  return frame(new Uint8Array(bytes)).subarray(0, 5);
}

/** Begins to answer, and does not end the answer. */
function begins(...chunks: readonly Uint8Array[]): Answer {
  return (stream) => {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    for (const chunk of chunks) stream.write(chunk);
  };
}

async function connectionTo(port: number, freeBytes?: number) {
  const answers = new SharedAllowance(freeBytes);
  const keepalive = { intervalMs: 10_000, timeoutMs: 3_000 };
  const options = { secure: false, keepalive, dialTimeoutMs: 5_000, maxRequests: 1_000, answers };
  return openConnection({ host: '127.0.0.1', port }, { ...options, connect: (to, stop) => connectSocket(to, {}, stop) }, signal);
}

describe('an answer is refused as soon as its header announces its length', () => {
  it.each([
    ['a version longer than any', status, begins(announce(2 ** 18 + 1))],
    ['keys and values longer than any', range, begins(announce(17 * 2 ** 20 + 1))],
    ['a second answer to one request', range, begins(frame(new Uint8Array(3)), announce(2 ** 20))],
  ] as const)('if it is %s', async (_, rpc, answer) => {
    await using server = await startFakeServer(answer);
    const connection = await connectionTo(server.port);
    await expect(exchange(connection, rpc, {}, new Uint8Array(0), signal)).rejects.toMatchObject({ failure: { kind: 'malformed' } });
    connection.destroy();
  });
});

describe('answers beyond the allowance of memory', () => {
  const LONG = new Uint8Array(150_000).fill(7);
  const FREE = 200_000;
  const SHORT = new Uint8Array([1]);

  /**
   * A server that holds back the end of every long answer until `finish` is called with its number.
   */
  async function slowServer() {
    const streams: ServerHttp2Stream[] = [];
    const server = await startFakeServer((stream, headers) => {
      const isShort = headers['short'] !== undefined;
      begins(isShort ? frame(SHORT) : frame(LONG).subarray(0, 100_000))(stream, headers);
      if (isShort) stream.end();
      else streams.push(stream);
    });
    const connection = await connectionTo(server.port, FREE);
    const call = (stop = signal, headers = {}): Promise<Uint8Array> => exchange(connection, range, headers, new Uint8Array(0), stop);
    return {
      call,
      short: () => call(signal, { short: 'yes' }),
      asked: () => streams.length,
      finish: (index: number) => void streams[index]?.end(frame(LONG).subarray(100_000)),
      [Symbol.asyncDispose]: async () => {
        connection.destroy();
        await server[Symbol.asyncDispose]();
      },
    };
  }

  it('wait for other answers to be read; short answers do not wait', async () => {
    await using server = await slowServer();
    const ends: number[] = [];
    const calls = [0, 1, 2].map((index) => server.call().finally(() => ends.push(index)));
    await expect.poll(server.asked).toBe(3);
    server.finish(1);
    server.finish(2);
    expect(Buffer.compare(await server.short(), SHORT)).toBe(0);
    expect(ends).toEqual([]);
    server.finish(0);
    for (const answer of await Promise.all(calls)) expect(Buffer.compare(answer, LONG)).toBe(0);
    expect(ends).toEqual([0, 1, 2]);
  });

  it('do not wait for an aborted call, and may themselves be aborted while they wait', async () => {
    await using server = await slowServer();
    const [first, second] = [new AbortController(), new AbortController()];
    const [given, waiting, last] = [server.call(first.signal), server.call(second.signal), server.call()];
    await expect.poll(server.asked).toBe(3);
    server.finish(2);
    await server.short();
    second.abort('enough');
    await expect(waiting).rejects.toBe('enough');
    first.abort('enough');
    await expect(given).rejects.toBe('enough');
    expect(Buffer.compare(await last, LONG)).toBe(0);
  });
});
