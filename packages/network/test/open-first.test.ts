import { ManualClock } from '@incumbent/memory';
import { describe, expect, it } from 'vitest';

import { type Endpoint, openFirst } from '@incumbent/network';

interface Dial {
  readonly signal: AbortSignal;
  readonly opened: PromiseWithResolvers<string>;
}

/** Dials the hosts `a`, `b`, …, whose connections the test opens or fails. */
function begin(...hosts: readonly string[]) {
  const clock = new ManualClock();
  const stop = new AbortController();
  const dials = new Map<string, Dial>();
  const discarded: string[] = [];
  const endpoints: readonly Endpoint[] = hosts.map((host) => ({ host, port: 1 }));
  const first = openFirst(endpoints, {
    clock,
    signal: stop.signal,
    open: ({ host }, signal) => {
      const opened = Promise.withResolvers<string>();
      dials.set(host, { signal, opened });
      return opened.promise;
    },
    discard: (opened) => void discarded.push(opened),
  });
  first.catch(() => {});
  const dialled = (): readonly string[] => [...dials.keys()];
  const dialOf = (host: string): Dial => dials.get(host) ?? expect.unreachable(`${host} was not dialled`);
  return { clock, stop, first, discarded, dialled, dialOf };
}

describe('dialling', () => {
  it('begins with the first server, and dials another after 250 ms', async () => {
    const { clock, first, dialled, dialOf } = begin('a', 'b', 'c');
    await clock.advance(249);
    expect(dialled()).toEqual(['a']);
    await clock.advance(1);
    expect(dialled()).toEqual(['a', 'b']);
    dialOf('b').opened.resolve('to b');
    expect(await first).toBe('to b');
    expect(dialOf('a').signal.aborted).toBe(true);
    await clock.advance(10_000);
    expect(dialled()).toEqual(['a', 'b']);
    expect(clock.timers).toBe(0);
  });

  it('dials another at once when one fails, and waits for those under way', async () => {
    const { first, dialled, dialOf } = begin('a', 'b');
    dialOf('a').opened.reject(new Error('refused'));
    await expect.poll(dialled).toEqual(['a', 'b']);
    dialOf('b').opened.resolve('to b');
    expect(await first).toBe('to b');
  });

  it('fails with the last failure when all have failed', async () => {
    const { clock, first, dialOf } = begin('a', 'b');
    await clock.advance(250);
    dialOf('b').opened.reject(new Error('b refused'));
    dialOf('a').opened.reject(new Error('a refused'));
    await expect(first).rejects.toThrow('a refused');
    expect(clock.timers).toBe(0);
  });

  it('discards a connection that opens too late', async () => {
    const { clock, first, discarded, dialOf } = begin('a', 'b');
    await clock.advance(250);
    dialOf('a').opened.resolve('to a');
    dialOf('b').opened.resolve('to b');
    expect(await first).toBe('to a');
    expect(discarded).toEqual(['to b']);
  });

  it('rejects with the reason of its signal', async () => {
    const { clock, stop, first, discarded, dialOf } = begin('a', 'b');
    stop.abort('enough');
    await expect(first).rejects.toBe('enough');
    expect(dialOf('a').signal.reason).toBe('enough');
    dialOf('a').opened.resolve('to a');
    await expect.poll(() => discarded).toEqual(['to a']);
    expect(clock.timers).toBe(0);
  });

  it('dials nothing after its signal has aborted', async () => {
    const options = {
      clock: new ManualClock(),
      signal: AbortSignal.abort('enough'),
      open: () => expect.unreachable('nobody waits for it'),
      discard: () => {},
    };
    await expect(openFirst([{ host: 'a', port: 1 }], options)).rejects.toBe('enough');
  });
});
