/** The connections of a store, without a server. */

import { duplexPair } from 'node:stream';

import { ManualClock } from '@incumbent/memory';
import { expect, it } from 'vitest';

import { answersOfStore } from '../src/client/answer-memory.ts';
import { Connection, type ConnectionSource } from '../src/client/connection.ts';
import { notConnected } from '../src/client/failure.ts';
import { Pool } from '../src/client/pool.ts';
import { GREETING } from './server-messages.ts';

/** Opens connections, and refuses to while `isFull`. */
class Source implements ConnectionSource {
  readonly username = '';
  readonly database = '';
  readonly #clock: ManualClock;
  isFull = false;
  isSilent = false;
  opened = 0;

  constructor(clock: ManualClock) {
    this.#clock = clock;
  }

  async open(signal: AbortSignal): Promise<Connection> {
    this.opened += 1;
    if (this.isSilent) await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    if (this.isFull) throw notConnected('refused', 'sorry, too many clients already');
    const [stream, server] = duplexPair();
    const login = { database: 'd', username: 'u', password: undefined };
    const connecting = Connection.login(stream, login, { clock: this.#clock, answers: answersOfStore() });
    server.write(GREETING);
    return connecting;
  }

  async idle(): Promise<void> {}
}

it('opens a connection for a call that waits, although the server had none a moment before', async () => {
  const clock = new ManualClock();
  const source = new Source(clock);
  const pool = new Pool(source, clock);
  const { signal } = new AbortController();
  // Its call waits for a lock, and does not return it.
  await pool.take(false, signal);
  source.isFull = true;
  const taking = pool.take(true, signal);
  const others = new AbortController();
  for (let ms = 0; ms < 1_000; ms += 20) {
    pool.take(false, others.signal).catch(() => {});
    await clock.advance(20);
  }
  others.abort();
  // Once every 100 ms, because each try costs the server a process.
  expect(source.opened).toBeGreaterThan(5);
  expect(source.opened).toBeLessThan(15);
  source.isFull = false;
  await clock.advance(200);
  expect((await taking).usable).toBe(true);
  pool.close();
});

it('leaves no timer when it closes while it opens a connection', async () => {
  const clock = new ManualClock();
  const source = new Source(clock);
  const pool = new Pool(source, clock);
  const { signal } = new AbortController();
  const busy = await pool.take(false, signal);
  source.isSilent = true;
  const taking = pool.take(false, signal).catch((error: unknown) => error);
  await clock.advance(10);
  expect(source.opened).toBe(2);
  pool.close();
  await clock.advance(0);
  expect(await taking).toMatchObject({ failure: { kind: 'closed' } });
  expect(clock.timers).toBe(0);
  pool.release(busy);
});
