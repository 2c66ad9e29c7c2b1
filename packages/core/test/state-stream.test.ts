import { describe, expect, it } from 'vitest';

import { StateStream } from '../src/state-stream.ts';

describe('the latest state', () => {
  it('is what a slow consumer gets, and the states between are never made', async () => {
    const stream = new StateStream<number>();
    let made = 0;
    for (let i = 1; i <= 100; i += 1) {
      stream.put(() => {
        made += 1;
        return i;
      });
    }
    expect(await stream.next()).toEqual({ done: false, value: 100 });
    expect(made).toBe(1);
  });

  it('goes to whoever waits, in the order of asking', async () => {
    const stream = new StateStream<number>();
    const asked = [stream.next(), stream.next()];
    stream.put(() => 1);
    stream.put(() => 2);
    expect(await Promise.all(asked)).toEqual([
      { done: false, value: 1 },
      { done: false, value: 2 },
    ]);
  });

  it('ends quietly: for those who wait, for those who come later, and what nobody took is dropped', async () => {
    const stream = new StateStream<number>();
    const waiting = stream.next();
    stream.end();
    stream.put(() => 1);
    expect(await waiting).toEqual({ done: true, value: undefined });
    expect(await stream.next()).toEqual({ done: true, value: undefined });
  });

  it('fails once: for whoever waits, or comes next', async () => {
    const [one, other] = [new StateStream<number>(), new StateStream<number>()];
    const waiting = one.next();
    one.fail(new Error('no'));
    await expect(waiting).rejects.toThrow('no');
    expect(await one.next()).toEqual({ done: true, value: undefined });
    other.put(() => 1);
    other.fail(new Error('no'));
    other.end();
    await expect(other.next()).rejects.toThrow('no');
    expect(await other.next()).toEqual({ done: true, value: undefined });
  });
});
