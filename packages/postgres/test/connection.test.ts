/** What a connection keeps while it lives. */

import { duplexPair } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { ManualClock } from '@incumbent/memory';
import { expect, it, vi } from 'vitest';

import { answersOfStore } from '../src/client/answer-memory.ts';
import { Connection } from '../src/client/connection.ts';
import { cut } from '../src/client/failure.ts';
import { COMPLETE, description, GREETING, READY, refusal, row } from './server-messages.ts';

setFlagsFromString('--expose-gc');

/** The type of the message Query. */
const QUERY = 'Q'.charCodeAt(0);

/** A connection to a server that gives each statement this answer, which is one row by default. */
async function connected(answer: Buffer = Buffer.concat([description(1), row('a'), COMPLETE, READY])): Promise<Connection> {
  const [stream, server] = duplexPair();
  server.on('data', (message: Buffer) => {
    if (message[0] === QUERY) server.write(answer);
  });
  const login = Connection.login(
    stream,
    { database: 'd', username: 'u', password: undefined },
    { clock: new ManualClock(), answers: answersOfStore() },
  );
  server.write(GREETING);
  return login;
}

it('keeps no answer', async () => {
  const connection = await connected();
  const answers: WeakRef<object>[] = [];
  for (let i = 0; i < 10; i += 1) answers.push(new WeakRef(await connection.query('SELECT')));
  // A reference lives until the end of the turn that made it.
  await nextTurn();
  runInNewContext('gc()');
  // The last answer may still be referred to.
  expect(answers.slice(0, -1).filter((answer) => answer.deref() !== undefined)).toEqual([]);
  connection.end(cut('the end of the test'));
});

it.each([
  ['is unusable at once after the answer that the server shuts down', refusal('FATAL', '57P01'), '57P01', false],
  ['is unusable at once after the answer that its transaction took too long', refusal('FATAL', '25P04'), '25P04', false],
  ['can be used again after another error', Buffer.concat([refusal('ERROR', '55P03'), READY]), '55P03', true],
])('%s', async (_, answer, state, usable) => {
  const connection = await connected(answer);
  const seen: unknown = await connection.query('SELECT').catch((error: unknown) => ({ error, usable: connection.usable }));
  expect(seen).toMatchObject({ error: { failure: { kind: 'answer', answer: { state } } }, usable });
  connection.end(cut('the end of the test'));
});

it('needs no TLS of its own although the environment asks pg for it', async () => {
  vi.stubEnv('PGSSLNEGOTIATION', 'direct');
  try {
    const connection = await connected();
    expect(connection.usable).toBe(true);
    connection.end(cut('the end of the test'));
  } finally {
    vi.unstubAllEnvs();
  }
});

it('names a server that does not speak the protocol', async () => {
  const [stream, server] = duplexPair();
  server.resume();
  const login = Connection.login(
    stream,
    { database: 'd', username: 'u', password: undefined },
    { clock: new ManualClock(), answers: answersOfStore() },
  );
  server.write('HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n');
  await expect(login).rejects.toMatchObject({
    failure: { kind: 'notConnected', why: 'foreign' },
    message: expect.stringContaining("the server does not speak PostgreSQL's protocol"),
  });
});
