import { ManualClock } from '@incumbent/memory';
import { describe, expect, it } from 'vitest';

import { Calls } from '@incumbent/network';

import { ExchangeError } from './errors.ts';

const CALL = { timeoutMs: 100 };
const forever = new Promise<never>(() => {});

function begin() {
  const clock = new ManualClock();
  return { clock, calls: new Calls(clock, ExchangeError) };
}

describe('calls', () => {
  it('resolve with what the task resolves with, and leave no timer', async () => {
    const { clock, calls } = begin();
    expect(await calls.run(CALL, async () => 'answer')).toBe('answer');
    expect(clock).toMatchObject({ timers: 0, holds: 0 });
  });

  it.each([
    [false, 'not sent within 100 ms'],
    [true, 'no answer within 100 ms'],
  ])('reject at their timeout, and say whether they were sent: %s', async (sent, message) => {
    const { clock, calls } = begin();
    const call = calls.run(CALL, (attempt) => {
      attempt.sent = sent;
      return attempt.wait(forever);
    });
    const ended = call.catch((error: unknown) => error);
    await clock.advance(100);
    expect(await ended).toMatchObject({ failure: { kind: 'timeout', sent }, message, name: 'ExchangeError' });
    expect(clock).toMatchObject({ timers: 0, holds: 0 });
  });

  it('reject with the reason of their signal', async () => {
    const { clock, calls } = begin();
    const given = new AbortController();
    const call = calls.run({ ...CALL, signal: given.signal }, (attempt) => attempt.wait(forever));
    given.abort('enough');
    await expect(call).rejects.toBe('enough');
    await expect(calls.run({ ...CALL, signal: given.signal }, async () => 'answer')).rejects.toBe('enough');
    expect(clock).toMatchObject({ timers: 0, holds: 0 });
  });

  it('reject when the client closes, and later ones are not started', async () => {
    const { calls } = begin();
    const call = calls.run(CALL, (attempt) => {
      attempt.sent = true;
      return attempt.wait(forever);
    });
    expect(calls.closed).toBe(false);
    calls.close();
    calls.close();
    expect(calls.closed).toBe(true);
    await expect(call).rejects.toMatchObject({ failure: { kind: 'closed', sent: true } });
    const late = calls.run(CALL, () => expect.unreachable('the client was closed'));
    await expect(late).rejects.toMatchObject({ failure: { kind: 'closed', sent: false } });
  });

  it('reject with the first of several reasons', async () => {
    const { calls } = begin();
    const call = calls.run(CALL, (attempt) => attempt.wait(forever));
    calls.end((sent) => new ExchangeError({ kind: 'cut' }, `sent: ${sent}`));
    calls.close();
    await expect(call).rejects.toMatchObject({ failure: { kind: 'cut' }, message: 'sent: false' });
    await expect(calls.run(CALL, async () => {})).rejects.toMatchObject({ failure: { kind: 'cut' } });
  });
});
