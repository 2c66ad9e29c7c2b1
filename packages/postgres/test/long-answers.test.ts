/** Answers that take more memory than they may. */

import { duplexPair, type Duplex } from 'node:stream';

import { ManualClock } from '@incumbent/memory';
import { SharedAllowance } from '@incumbent/network';
import { describe, expect, it } from 'vitest';

import { answersOfStore } from '../src/client/answer-memory.ts';
import { Connection } from '../src/client/connection.ts';
import { ExchangeError } from '../src/client/failure.ts';
import { toStoreError } from '../src/errors.ts';
import { COMPLETE, description, GREETING, message, READY, row } from './server-messages.ts';

const CHUNK_BYTES = 65_536;
const MIB = 2 ** 20;

interface Scene {
  readonly connection: Connection;
  readonly server: Duplex;
}

/** A connection that has logged in, and the server's side of it. */
async function connected(answers: SharedAllowance = answersOfStore()): Promise<Scene> {
  const [stream, server] = duplexPair();
  server.resume().on('error', () => {});
  const login = Connection.login(stream, { database: 'd', username: 'u', password: undefined }, { clock: new ManualClock(), answers });
  server.write(GREETING);
  return { connection: await login, server };
}

/** Sends at the speed at which the client reads. Returns how many bytes the client has taken. */
async function pour({ connection, server }: Scene, chunk: Uint8Array, total: number): Promise<number> {
  const ended = connection.ended.then(() => true);
  for (let sent = 0; sent < total; sent += chunk.length) {
    const written = new Promise<boolean>((resolve) => server.write(chunk, () => resolve(false)));
    if (await Promise.race([written, ended])) return sent;
  }
  return total;
}

/** As many of a message as fit into a chunk. */
function many(one: Uint8Array): Buffer {
  return Buffer.concat(Array.from({ length: Math.floor(CHUNK_BYTES / one.length) }, () => one));
}

/** How an answer fails. */
async function failureOf(answer: Promise<unknown>): Promise<unknown> {
  const error: unknown = await answer.catch((reason: unknown) => reason);
  return error instanceof ExchangeError ? error.failure : error;
}

describe('an answer without an end', () => {
  it.each([
    ['rows of one empty column', row('')],
    ['rows of six empty columns', row('', '', '', '', '', '')],
    ['rows without a column', row()],
  ] as const)('ends the connection when it would take too much memory: %s', async (_, one) => {
    const scene = await connected();
    const answer = scene.connection.query('SELECT');
    const failure = failureOf(answer);
    scene.server.write(description(1));
    // A row without a column has 7 bytes, and takes 128 bytes of memory or less.
    expect(await pour(scene, many(one), 64 * MIB)).toBeLessThan(2 * MIB);
    expect(await failure).toMatchObject({ kind: 'malformed' });
    expect(scene.connection.usable).toBe(false);
  });

  const TEXT = 'a'.repeat(1_000);

  it.each([
    ['the ends of statements', message('C', Buffer.from(`${TEXT}\0`))],
    ['descriptions of columns', description(100)],
    ['notices', message('N', Buffer.from(`SLOG\0C00000\0M${TEXT}\0\0`))],
    ['settings', message('S', Buffer.from(`a\0${TEXT}\0`))],
  ] as const)('ends the connection after 23 MiB of what nobody keeps: %s', async (_, one) => {
    const scene = await connected();
    const failure = failureOf(scene.connection.query('SELECT'));
    scene.server.write(description(1));
    expect(await pour(scene, many(one), 64 * MIB)).toBeLessThan(23 * MIB);
    expect(await failure).toMatchObject({ kind: 'malformed' });
  });

  it('leaves the outcome of a write unknown', async () => {
    const scene = await connected();
    const answer = scene.connection.query('SELECT').catch((error: unknown) => toStoreError(error, 'compareAndSwap'));
    scene.server.write(description(1));
    await pour(scene, many(row('')), 64 * MIB);
    expect(await answer).toMatchObject({ outcome: 'unknown' });
  });

  it('before the login has succeeded ends the connection after 256 KiB', async () => {
    const [stream, server] = duplexPair();
    server.resume().on('error', () => {});
    const login = Connection.login(
      stream,
      { database: 'd', username: 'u', password: undefined },
      { clock: new ManualClock(), answers: answersOfStore() },
    );
    const failure = failureOf(login);
    const chunk = many(message('S', Buffer.from(`a\0${'b'.repeat(100)}\0`)));
    for (let count = 0; count < 8; count += 1) server.write(chunk);
    expect(await failure).toMatchObject({ kind: 'notConnected', why: 'foreign' });
  });
});

describe('an answer', () => {
  it('may have a list of 16 MiB in base64', async () => {
    const { connection, server } = await connected();
    const answer = connection.query('SELECT');
    const value = Buffer.alloc(MIB, 7).toString('base64');
    server.write(description(6));
    for (let count = 0; count < 16; count += 1)
      server.write(row('1', `members/${count}`, value, '1700000000000000', '1700000000000000', 'a'.repeat(24)));
    server.write(Buffer.concat([COMPLETE, READY]));
    expect(await answer).toHaveLength(16);
    expect(connection.usable).toBe(true);
  });

  it('may have as many entries without a value as the server sends at most', async () => {
    const scene = await connected();
    const answer = scene.connection.query('SELECT');
    const key = `members/${'k'.repeat(32)}`;
    const count = Math.floor((16 * MIB) / (1_024 + key.length));
    const one = row('64', key, '', '1700000000000000', '1700000000000000', 'a'.repeat(24));
    scene.server.write(description(6));
    for (let left = count; left > 0; left -= 1) scene.server.write(one);
    scene.server.write(Buffer.concat([COMPLETE, READY]));
    expect(await answer).toHaveLength(count);
  });

  it('leaves its memory to the next one', async () => {
    const scene = await connected();
    const value = 'a'.repeat(16 * MIB);
    for (let count = 0; count < 4; count += 1) {
      const answer = scene.connection.query('SELECT');
      for (const part of [description(1), row(value), COMPLETE, READY]) scene.server.write(part);
      expect(await answer).toEqual([[value]]);
    }
  });
});

describe('answers on several connections', () => {
  const HALF = row('a'.repeat(12 * MIB));

  it('share an allowance: beyond it, the next long answer ends its connection, and short ones arrive', async () => {
    const answers = new SharedAllowance(30 * MIB);
    const scenes = await Promise.all([connected(answers), connected(answers), connected(answers)]);
    const [first, second, third] = scenes.map(({ connection, server }) => {
      const answer = failureOf(connection.query('SELECT'));
      server.write(description(1));
      return { answer, server };
    });
    const short = await connected(answers);
    if (first === undefined || second === undefined || third === undefined) throw new Error('three connections are needed');
    for (const { server } of [first, second]) await new Promise<void>((resolve) => server.write(HALF, () => resolve()));
    third.server.write(HALF);
    expect(await third.answer).toMatchObject({ kind: 'malformed' });
    const answer = short.connection.query('SELECT');
    for (const part of [description(1), row('1'), COMPLETE, READY]) short.server.write(part);
    expect(await answer).toEqual([['1']]);
    for (const { server } of [first, second]) server.write(Buffer.concat([COMPLETE, READY]));
    expect(await Promise.all([first.answer, second.answer])).toMatchObject([[[expect.any(String)]], [[expect.any(String)]]]);
  });

  it('get the memory of a connection that has ended', async () => {
    const answers = new SharedAllowance(14 * MIB);
    const first = await connected(answers);
    const lost = failureOf(first.connection.query('SELECT'));
    await new Promise<void>((resolve) => first.server.write(Buffer.concat([description(1), HALF]), () => resolve()));
    first.connection.end(new ExchangeError({ kind: 'cut' }, 'given up'));
    await lost;
    const { connection, server } = await connected(answers);
    const answer = connection.query('SELECT');
    for (const part of [description(1), HALF, COMPLETE, READY]) server.write(part);
    expect(await answer).toHaveLength(1);
  });
});
