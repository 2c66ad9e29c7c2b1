import { describe, expect, it } from 'vitest';
import { ValueStream } from '../../src/async/value-stream.ts';
import { track } from '../support/track.ts';

function quiet<T>(): ValueStream<T> {
  return new ValueStream<T>(() => expect.unreachable());
}

async function turn(): Promise<void> {
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
}

describe('an iteration', () => {
  it('begins with the value now, and lags behind by one at the most', async () => {
    const latest = quiet<number>();
    latest.set(1);
    const values = latest.values(undefined);
    expect((await values.next()).value).toBe(1);
    for (const value of [2, 3, 4]) latest.set(value);
    expect((await values.next()).value).toBe(4);
    const waiting = track(values.next());
    await turn();
    expect(waiting.state).toBe('pending');
    latest.set(5);
    await turn();
    expect(waiting.value).toEqual({ done: false, value: 5 });
  });

  it('waits for the first value where there is none', async () => {
    const latest = quiet<string>();
    const first = track(latest.values(undefined).next());
    await turn();
    expect(first.state).toBe('pending');
    latest.set('a');
    await turn();
    expect(first.value?.value).toBe('a');
  });

  it('shows a value that is the same as the one before, too', async () => {
    const latest = quiet<number>();
    const values = latest.values(undefined);
    latest.set(1);
    await values.next();
    latest.set(1);
    expect((await values.next()).value).toBe(1);
  });

  it('ends quietly when its signal aborts, whether it waits or not', async () => {
    const latest = quiet<number>();
    const caller = new AbortController();
    latest.set(1);
    const values = latest.values(caller.signal);
    await values.next();
    const waiting = track(values.next());
    await turn();
    caller.abort(new Error('not to be seen'));
    await turn();
    expect(waiting.value).toEqual({ done: true, value: undefined });
    expect((await latest.values(caller.signal).next()).done).toBe(true);
  });

  it('shows the last value before it ends', async () => {
    const latest = quiet<number>();
    const values = latest.values(undefined);
    latest.set(1);
    latest.end();
    expect((await values.next()).value).toBe(1);
    expect((await values.next()).done).toBe(true);
  });

  it('ends with the error that it was ended with, the first one', async () => {
    const latest = quiet<number>();
    const waiting = track(latest.values(undefined).next());
    await turn();
    latest.end({ error: new Error('first') });
    latest.end();
    await turn();
    expect(waiting.error).toMatchObject({ message: 'first' });
    await expect(latest.values(undefined).next()).rejects.toThrow('first');
  });

  it('is one of many, and leaving one disturbs no other', async () => {
    const latest = quiet<number>();
    const [a, b] = [latest.values(undefined), latest.values(undefined)];
    latest.set(1);
    await Promise.all([a.next(), b.next()]);
    await a.return();
    latest.set(2);
    expect((await b.next()).value).toBe(2);
  });
});

describe('a subscriber', () => {
  it('gets the present value, and every later one until it ends', () => {
    const latest = quiet<number>();
    const seen: number[] = [];
    latest.set(1);
    const stop = latest.subscribe((value) => seen.push(value));
    latest.set(2);
    stop();
    stop();
    latest.set(3);
    expect(seen).toEqual([1, 2]);
  });

  it('that throws disturbs no other, and gets the next value', () => {
    const failures: unknown[] = [];
    const latest = new ValueStream<number>((error) => failures.push(error));
    const seen: number[] = [];
    latest.subscribe((value) => {
      throw new Error(`at ${value}`);
    });
    latest.subscribe((value) => seen.push(value));
    latest.set(1);
    latest.set(2);
    expect(seen).toEqual([1, 2]);
    expect(failures).toEqual([new Error('at 1'), new Error('at 2')]);
  });

  it('gets nothing more after another one has ended it', () => {
    const latest = quiet<number>();
    const seen: number[] = [];
    latest.subscribe(() => stop());
    const stop = latest.subscribe((value) => seen.push(value));
    latest.set(1);
    expect(seen).toEqual([]);
  });

  it('does not get a value again that another one has replaced', () => {
    const latest = quiet<number>();
    const seen: number[] = [];
    latest.subscribe((value) => {
      if (value === 1) latest.set(2);
    });
    latest.subscribe((value) => seen.push(value));
    latest.set(1);
    expect(seen).toEqual([2]);
  });

  it('gets nothing after the end', () => {
    const latest = quiet<number>();
    const seen: number[] = [];
    latest.subscribe((value) => seen.push(value));
    latest.end();
    latest.set(1);
    expect(seen).toEqual([]);
    expect(latest.value).toBeUndefined();
  });
});
