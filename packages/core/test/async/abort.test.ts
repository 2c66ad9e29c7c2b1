import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { onAbort, orAborted } from '../../src/async/abort.ts';
import { track } from '../support/track.ts';

function listeners(signal: AbortSignal): number {
  return getEventListeners(signal, 'abort').length;
}

describe('onAbort', () => {
  it('hangs a thousand tasks on one signal by one listener, and runs all of them once', () => {
    const caller = new AbortController();
    let ran = 0;
    for (let i = 0; i < 1_000; i += 1) {
      onAbort(caller.signal, () => {
        ran += 1;
      });
    }
    expect(listeners(caller.signal)).toBe(1);
    caller.abort();
    caller.abort();
    expect([ran, listeners(caller.signal)]).toEqual([1_000, 0]);
  });

  it('runs the tasks in the order in which they came', () => {
    const caller = new AbortController();
    const ran: number[] = [];
    for (let i = 0; i < 10; i += 1) onAbort(caller.signal, () => ran.push(i));
    caller.abort();
    expect(ran).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  it('does not run a task that was cancelled, and cancels one of two that are the same', () => {
    const caller = new AbortController();
    let ran = 0;
    const task = (): void => {
      ran += 1;
    };
    const cancel = onAbort(caller.signal, task);
    onAbort(caller.signal, task);
    cancel();
    cancel();
    caller.abort();
    expect(ran).toBe(1);
  });

  it('does not run a task that another task has just cancelled', () => {
    const caller = new AbortController();
    let ran = false;
    onAbort(caller.signal, () => cancel());
    const cancel = onAbort(caller.signal, () => {
      ran = true;
    });
    caller.abort();
    expect(ran).toBe(false);
  });

  it('runs a task at once on a signal that has aborted, and adds no listener', () => {
    let ran = 0;
    const signal = AbortSignal.abort();
    onAbort(signal, () => {
      ran += 1;
    })();
    expect([ran, listeners(signal)]).toEqual([1, 0]);
  });

  it('runs a task that is added while the others run', () => {
    const caller = new AbortController();
    let ran = false;
    onAbort(caller.signal, () =>
      onAbort(caller.signal, () => {
        ran = true;
      }),
    );
    caller.abort();
    expect(ran).toBe(true);
  });

  it('never runs where there is no signal', () => {
    expect(() => onAbort(undefined, () => expect.unreachable())()).not.toThrow();
  });
});

describe('orAborted', () => {
  it('settles as the promise does', async () => {
    const { signal } = new AbortController();
    await expect(orAborted(Promise.resolve(5), signal)).resolves.toBe(5);
    await expect(orAborted(Promise.reject(new Error('no')), signal)).rejects.toThrow('no');
    await expect(orAborted(Promise.resolve(5), undefined)).resolves.toBe(5);
  });

  it("rejects with the signal's own reason, whatever it is", async () => {
    const caller = new AbortController();
    const waiting = orAborted(new Promise(() => {}), caller.signal);
    caller.abort('a text, and no error');
    await expect(waiting).rejects.toBe('a text, and no error');
  });

  it('leaves what fails after the abort to nobody', async () => {
    const caller = new AbortController();
    const late = Promise.withResolvers<never>();
    const waiting = track(orAborted(late.promise, caller.signal));
    caller.abort();
    await Promise.resolve();
    late.reject(new Error('an unhandled rejection would fail this run'));
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    expect(waiting.state).toBe('rejected');
  });

  it('leaves a thousand waits and one listener', async () => {
    const caller = new AbortController();
    const waits = Array.from({ length: 1_000 }, () => track(orAborted(new Promise(() => {}), caller.signal)));
    expect(listeners(caller.signal)).toBe(1);
    caller.abort();
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    expect(waits.filter(({ state }) => state === 'rejected').length).toBe(1_000);
  });
});
