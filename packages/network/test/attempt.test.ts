import { ManualClock } from '@incumbent/memory';
import { describe, expect, it } from 'vitest';

import { Attempt, CallTime, type AttemptOptions, type Over } from '@incumbent/network';

class OverError extends Error {
  readonly over: Over;
  constructor(over: Over, message: string) {
    super(message);
    this.over = over;
  }
}

function begin(options: Partial<AttemptOptions> = {}) {
  const clock = new ManualClock();
  return { clock, attempt: new Attempt(clock, { timeoutMs: 100, ...options }, OverError) };
}

const forever = new Promise<never>(() => {});

describe('an attempt', () => {
  it('resolves with the answer', async () => {
    const { clock, attempt } = begin();
    expect(await attempt.wait(Promise.resolve('answer'))).toBe('answer');
    attempt.end();
    expect(clock).toMatchObject({ timers: 0, holds: 0 });
  });

  it('that has ended rejects although the answer is there', async () => {
    const { attempt } = begin();
    const reason = new Error('the connection is gone');
    attempt.stop(reason);
    await expect(attempt.wait('answer')).rejects.toBe(reason);
  });

  it.each([
    [false, 'not sent within 100 ms'],
    [true, 'no answer within 100 ms'],
  ])('rejects at its timeout; sent: %s', async (sent, message) => {
    const { clock, attempt } = begin();
    attempt.sent = sent;
    const ending = attempt.wait(forever).catch((error: unknown) => error);
    await clock.advance(99);
    expect(attempt.signal.aborted).toBe(false);
    await clock.advance(1);
    expect(await ending).toMatchObject({ over: { kind: 'timeout', sent }, message });
    await expect(attempt.wait(forever)).rejects.toBe(attempt.signal.reason);
  });

  it('rejects with the reason of its caller’s signal', async () => {
    const caller = new AbortController();
    const { attempt } = begin({ signal: caller.signal });
    const waiting = attempt.wait(forever);
    caller.abort('enough');
    await expect(waiting).rejects.toBe('enough');
  });

  it('keeps the process alive while a caller waits, unless it is a background call', () => {
    expect(begin().clock.holds).toBe(1);
    expect(begin({ background: true }).clock.holds).toBe(0);
  });
});

describe('the time of a call', () => {
  it('is divided among its requests: each gets what is left', async () => {
    const clock = new ManualClock();
    const { signal } = new AbortController();
    const time = new CallTime(clock, { timeoutMs: 100, signal }, OverError);
    expect(time.left).toEqual({ timeoutMs: 100, signal });
    await clock.advance(60);
    expect(time.left).toEqual({ timeoutMs: 40, signal });
    expect(time).toMatchObject({ leftMs: 40, signal });
  });

  it('throws before a request for which none is left', async () => {
    const clock = new ManualClock();
    const time = new CallTime(clock, { timeoutMs: 100 }, OverError);
    await clock.advance(100);
    expect(() => time.left).toThrow(expect.objectContaining({ over: { kind: 'timeout', sent: false }, message: 'not done within 100 ms' }));
  });
});
