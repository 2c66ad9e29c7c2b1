import { PassThrough } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';

import { expect, it } from 'vitest';

import { pace } from '@incumbent/network';

it.each([65_536, 16_384])('a stream is paused after 64 KiB in one turn, in chunks of %i bytes, and resumed in the next', async (length) => {
  const stream = new PassThrough();
  stream.on('data', () => {});
  for (let bytes = 0; bytes < 65_536; bytes += length) {
    expect(stream.isPaused()).toBe(false);
    pace(stream, new Uint8Array(length));
  }
  expect(stream.isPaused()).toBe(true);
  await turn();
  expect(stream.isPaused()).toBe(false);
});

it('a stream is not paused if the bytes come in several turns', async () => {
  const stream = new PassThrough();
  stream.on('data', () => {});
  for (let turns = 0; turns < 4; turns += 1) {
    pace(stream, new Uint8Array(40_000));
    expect(stream.isPaused()).toBe(false);
    await turn();
  }
});

it('a stream that was destroyed meanwhile is left alone', async () => {
  const stream = new PassThrough();
  stream.on('data', () => {});
  pace(stream, new Uint8Array(65_536));
  stream.destroy();
  await turn();
  expect(stream.isPaused()).toBe(true);
});
