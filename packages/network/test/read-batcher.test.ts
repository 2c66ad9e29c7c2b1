import { ManualClock } from '@incumbent/memory';
import { describe, expect, it } from 'vitest';

import { ReadBatcher, type ReadBatch } from '@incumbent/network';

import { ExchangeError } from './errors.ts';

const forbidden = new Error('forbidden');

type Send = (batch: ReadBatch<string>) => Promise<readonly string[]>;

function begin(
  send: Send = async ({ requests }) => requests.map((key) => `value of ${key}`),
  limits: { readonly maxRequests?: number } = {},
) {
  const clock = new ManualClock();
  const batches: (readonly string[])[] = [];
  const reads = new ReadBatcher<string, string>({
    clock,
    ErrorType: ExchangeError,
    maxReads: 3,
    ...limits,
    send: (batch) => {
      batches.push(batch.requests);
      return send(batch);
    },
    isOfOneRead: (error) => error === forbidden,
  });
  const read = (key: string, timeoutMs = 100, signal?: AbortSignal): Promise<string> =>
    reads.read(key, { timeoutMs, ...(signal === undefined ? {} : { signal }) });
  return { clock, batches, read };
}

const forever = new Promise<never>(() => {});

describe('reads', () => {
  it('of one turn of the event loop are one request, later ones another', async () => {
    const { clock, batches, read } = begin();
    expect(await Promise.all([read('a'), read('b')])).toEqual(['value of a', 'value of b']);
    expect(await read('c')).toBe('value of c');
    expect(batches).toEqual([['a', 'b'], ['c']]);
    expect(clock).toMatchObject({ timers: 0, holds: 0 });
  });

  it('beyond the limit of one request are another request', async () => {
    const { batches, read } = begin();
    await Promise.all(['a', 'b', 'c', 'd'].map((key) => read(key)));
    expect(batches).toEqual([['a', 'b', 'c'], ['d']]);
  });

  it('beyond the most requests under way wait, and share the next request', async () => {
    const answers: PromiseWithResolvers<void>[] = [];
    const send: Send = async ({ requests }) => {
      const answer = Promise.withResolvers<void>();
      answers.push(answer);
      await answer.promise;
      return requests;
    };
    const { batches, read } = begin(send, { maxRequests: 2 });
    const first = [read('a')];
    await Promise.resolve();
    first.push(read('b'));
    await Promise.resolve();
    const later = [read('c')];
    await Promise.resolve();
    later.push(read('d'));
    await Promise.resolve();
    expect(batches).toEqual([['a'], ['b']]);
    answers[1]?.resolve();
    expect(await first[1]).toBe('b');
    await Promise.resolve();
    expect(batches).toEqual([['a'], ['b'], ['c', 'd']]);
    for (const { resolve } of answers) resolve();
    expect(await Promise.all([...first, ...later])).toEqual(['a', 'b', 'c', 'd']);
  });

  it('that time out while they wait were not sent, and are never sent', async () => {
    const first = Promise.withResolvers<readonly string[]>();
    const { clock, batches, read } = begin(() => first.promise, { maxRequests: 1 });
    const reading = read('a', 1_000);
    await Promise.resolve();
    const waiting = read('b', 10).catch((error: unknown) => error);
    await clock.advance(10);
    expect(await waiting).toMatchObject({ failure: { kind: 'timeout', sent: false } });
    first.resolve(['a']);
    expect(await reading).toBe('a');
    expect(batches).toEqual([['a']]);
  });

  it('are sent with the longest of their timeouts, in a call that does not keep the process alive', async () => {
    let options: unknown;
    const { read } = begin(async (batch) => {
      options = batch.options;
      return batch.requests;
    });
    await Promise.all([read('a', 50), read('b', 70), read('c', 60)]);
    expect(options).toEqual({ timeoutMs: 70, background: true });
  });

  it('reject at their own timeout, and report whether they were sent', async () => {
    const { clock, read } = begin(({ markSent }) => {
      markSent();
      return forever;
    });
    const ended: string[] = [];
    const both = Promise.allSettled([read('a', 50).finally(() => ended.push('a')), read('b', 100).finally(() => ended.push('b'))]);
    await clock.advance(50);
    expect(ended).toEqual(['a']);
    await clock.advance(50);
    for (const one of await both) expect(one).toMatchObject({ reason: { failure: { kind: 'timeout', sent: true } } });
    expect(clock).toMatchObject({ timers: 0, holds: 0 });
  });

  it('that are aborted before they are sent are not sent', async () => {
    const { batches, read } = begin();
    const given = new AbortController();
    const both = Promise.allSettled([read('a', 100, given.signal), read('b')]);
    given.abort('enough');
    expect(await both).toEqual([
      { status: 'rejected', reason: 'enough' },
      { status: 'fulfilled', value: 'value of b' },
    ]);
    expect(batches).toEqual([['b']]);
    await expect(read('a', 100, given.signal)).rejects.toBe('enough');
  });

  it('all fail if their request fails', async () => {
    const { batches, read } = begin(() => Promise.reject(new ExchangeError({ kind: 'cut' }, 'gone')));
    for (const one of await Promise.allSettled([read('a'), read('b')])) expect(one).toMatchObject({ reason: { message: 'gone' } });
    expect(batches).toEqual([['a', 'b']]);
  });

  it('are sent one by one if a single one of them may be the cause of the failure', async () => {
    const { batches, read } = begin(async ({ requests }) => (requests.includes('b') ? Promise.reject(forbidden) : requests));
    expect(await Promise.allSettled([read('a'), read('b'), read('c')])).toMatchObject([
      { value: 'a' },
      { reason: forbidden },
      { value: 'c' },
    ]);
    expect(batches).toEqual([['a', 'b', 'c'], ['a'], ['b'], ['c']]);
  });

  it('fail if the answer lacks their part', async () => {
    const { read } = begin(async () => ['a']);
    const [a, b] = await Promise.allSettled([read('a'), read('b')]);
    expect(a).toMatchObject({ value: 'a' });
    expect(b).toMatchObject({ reason: { message: 'the answer lacks 1 of 2 parts' } });
  });
});
