/** The clients of an application's pool, without a server. */

import { PassThrough } from 'node:stream';

import { describe, expect, it, vi } from 'vitest';

import { openPostgres } from '../src/index.ts';

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
