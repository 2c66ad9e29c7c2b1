import { PassThrough } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';

import { dial } from '@incumbent/network';

const ENDPOINT = { host: 'one', port: 1 };
const { signal } = new AbortController();

describe('dialling one server', () => {
  it('resolves with the stream', async () => {
    const stream = new PassThrough();
    const dialled: unknown[] = [];
    const connect = (...of: unknown[]): PassThrough => {
      dialled.push(...of);
      return stream;
    };
    expect(await dial(connect, ENDPOINT, signal)).toBe(stream);
    expect(dialled).toEqual([ENDPOINT, signal]);
    expect(stream.destroyed).toBe(false);
  });

  it('rejects with the connection’s error, also if connect throws', async () => {
    const error = new Error('refused');
    const thrower = (): never => {
      throw error;
    };
    await expect(dial(thrower, ENDPOINT, signal)).rejects.toBe(error);
    await expect(dial(() => Promise.reject(error), ENDPOINT, signal)).rejects.toBe(error);
  });

  it('rejects at an abort, and destroys the stream that opens later', async () => {
    const stop = new AbortController();
    const opening = Promise.withResolvers<PassThrough>();
    const dialling = dial(() => opening.promise, ENDPOINT, stop.signal);
    stop.abort('enough');
    await expect(dialling).rejects.toBe('enough');
    const late = new PassThrough();
    opening.resolve(late);
    await expect.poll(() => late.destroyed).toBe(true);
  });

  it('rejects at an abort right after the stream has opened, and destroys the stream', async () => {
    const stop = new AbortController();
    const opening = Promise.withResolvers<PassThrough>();
    const dialling = dial(() => opening.promise, ENDPOINT, stop.signal);
    // So that the call is waiting for the stream.
    await turn();
    const stream = new PassThrough();
    opening.resolve(stream);
    queueMicrotask(() => queueMicrotask(() => stop.abort('enough')));
    await expect(dialling).rejects.toBe('enough');
    expect(stream.destroyed).toBe(true);
  });

  it('connects to nothing after an abort', async () => {
    const connect = (): never => expect.unreachable('nobody waits for it');
    await expect(dial(connect, ENDPOINT, AbortSignal.abort('enough'))).rejects.toBe('enough');
  });
});
