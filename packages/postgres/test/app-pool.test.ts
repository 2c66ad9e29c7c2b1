/** The clients of an application's pool, without a server. */

import { PassThrough } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';

import { describe, expect, it, vi } from 'vitest';

import { openPostgres } from '../src/index.ts';

it.each([
  ['08P01', 'server login has been failing'],
  ['57P03', 'the database system is starting up'],
])('a connection whose first statement is refused (%s) is the answer, and not a reason to connect again', async (code, text) => {
  let connects = 0;
  const refusal = Object.assign(new Error(text), { severity: 'FATAL', code });
  const connect = async (): Promise<unknown> => {
    connects += 1;
    await nextTurn();
    const query = (statement: { handleError(error: unknown): void }): void => statement.handleError(refusal);
    const client = { query, on: () => client, off: () => client, release: () => {}, connection: { stream: new PassThrough() } };
    return client;
  };
  await expect(openPostgres({ pool: { connect }, connectTimeoutMs: 300 })).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    outcome: 'notSent',
    message: expect.stringContaining(text),
  });
  expect(connects).toBeLessThan(5);
});

describe('a client that the store cannot use', () => {
  it.each([
    ['reads results in the binary format', { binary: true }],
    ['sends statements in a pipeline', { pipeline: true }],
    ['has no stream', { connection: {} }],
  ])('is given back to the pool: it %s', async (_why, properties) => {
    const release = vi.fn<() => void>();
    const client = { query: vi.fn<() => void>(), on: () => client, release, connection: { stream: new PassThrough() }, ...properties };
    await expect(openPostgres({ pool: { connect: async () => client } })).rejects.toMatchObject({ code: 'UNSUPPORTED' });
    expect(release).toHaveBeenCalledTimes(1);
  });
});
