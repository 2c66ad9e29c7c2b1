/** A connection on a manual clock. */

import { ManualClock } from '@incumbent/memory';
import { describe, expect, it } from 'vitest';
import { Connection } from '../../src/tcp/connection.ts';
import { Outbox } from '../../src/tcp/outbox.ts';
import { unsealed } from '../../src/tcp/seal.ts';
import { Wire } from '../../src/tcp/wire.ts';
import { framed, line, PREFACE, settled } from './stranger.ts';

const PING = framed(Buffer.of(2, 0));
const PONG = framed(Buffer.of(3, 0));

/** A clock that can pause, so that its timers fire late. */
class StoppableClock extends ManualClock {
  #stoodMs = 0;

  override monotonic(): number {
    return super.monotonic() + this.#stoodMs;
  }

  stand(ms: number): void {
    this.#stoodMs += ms;
  }
}

interface Connected {
  readonly clock: StoppableClock;
  readonly said: readonly Buffer[];
  readonly outbox: Outbox;
  receive(bytes: Buffer): Promise<void>;
  why(): unknown;
  full(is: boolean): void;
}

function connected(): Connected {
  const clock = new StoppableClock();
  const outbox = new Outbox(3_000);
  const { socket, said } = line();
  const wire = new Wire(socket, 1_000);
  let isFull = false;
  Object.defineProperty(wire, 'isFull', { get: () => isFull });
  const context = { clock, keepaliveMs: 1_000, outbox, receive: () => {} };
  const connection = new Connection(wire, { memberId: 'b', incarnation: 'x', theirs: unsealed, ours: unsealed }, context);
  connection.flush();
  let why: unknown;
  void connection.over.then((reason) => (why = reason));
  socket.push(PREFACE);
  const receive = async (bytes: Buffer): Promise<void> => {
    socket.push(bytes);
    await settled();
  };
  const full = (is: boolean): void => {
    isFull = is;
    if (!is) wire.onDrain();
  };
  return { clock, said, receive, why: () => why, outbox, full };
}

describe('a connection', () => {
  it('sends a ping per keepalive interval, and ends after three without an answer', async () => {
    const { clock, said, receive, why } = connected();
    for (let i = 0; i < 5; i += 1) {
      await clock.advance(1_000);
      await receive(PONG);
    }
    expect(Buffer.concat(said)).toEqual(Buffer.concat([PREFACE, PING, PING, PING, PING, PING]));
    await clock.advance(3_000);
    expect(why()).toBeUndefined();
    await clock.advance(1_000);
    expect(why()).toMatchObject({ reason: 'unresponsive', facts: { from: 'b', forMs: 4_000 } });
    expect(clock.timers).toBe(0);
  });

  it('ends if the other side sends pings but no answers', async () => {
    const { clock, receive, why } = connected();
    for (let i = 0; i < 4; i += 1) {
      await clock.advance(1_000);
      await receive(PING);
    }
    expect(why()).toMatchObject({ reason: 'unresponsive' });
  });

  it('does not count the time during which its own process was paused', async () => {
    const { clock, receive, why } = connected();
    await clock.advance(900);
    clock.stand(60_000);
    await clock.advance(100);
    expect(why()).toBeUndefined();
    await receive(PONG);
    await clock.advance(3_500);
    expect(why()).toBeUndefined();
  });

  it('answers pings unless the buffer is full, and sends waiting messages when it has room', async () => {
    const { said, receive, outbox, full } = connected();
    await receive(PING);
    expect(Buffer.concat(said)).toEqual(Buffer.concat([PREFACE, PONG]));
    full(true);
    outbox.put('vote', Buffer.from('1'), 0);
    outbox.put('vote', Buffer.from('2'), 0);
    await receive(PING);
    expect(said).toHaveLength(1);
    full(false);
    expect(Buffer.concat(said)).toEqual(Buffer.concat([PREFACE, PONG, framed(Buffer.from('\u00012'))]));
  });
});
