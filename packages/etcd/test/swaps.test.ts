/** Swaps of one turn of the event loop, against a fake server. */

import type { Change, Entry, Store, SwapResult } from '@incumbent/core';
import { openEtcd } from '@incumbent/etcd';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { Writer } from '../src/protocol/protobuf.ts';
import { fails, ok, startFakeServer, type Answer, type FakeServer } from './fake-server.ts';

const CALL = { timeoutMs: 5_000 };
const VERSION = new Writer().string(2, '3.6.1').finish();
const TXN = '/etcdserverpb.KV/Txn';
const VALUE = new Uint8Array([1]);

const header = (): Writer => new Writer().int64(3, 7n);
const executed = ok(new Writer().message(1, header()).bool(2, true).finish());
/** Something compared was different. Shows so many keys, all absent. */
function notExecuted(reads = 0): Answer {
  const message = new Writer().message(1, header()).bool(2, false);
  for (let read = 0; read < reads; read += 1) message.message(3, new Writer().message(1, new Writer().message(1, header())));
  return ok(message.finish());
}

const MADE: SwapResult = { swapped: true, revisions: ['7'] };

describe('swaps', () => {
  let server: FakeServer;
  let store: Store;
  /** The answers to the next transactions. After them, everything is executed. */
  let answers: Answer[];

  beforeEach(async () => {
    answers = [];
    server = await startFakeServer((stream, headers) => {
      const answer = headers[':path'] === TXN ? (answers.shift() ?? executed) : ok(VERSION);
      answer(stream, headers);
    });
    store = await openEtcd({ endpoints: [`127.0.0.1:${server.port}`] });
  });
  afterEach(async () => {
    await store.close();
    await server[Symbol.asyncDispose]();
  });

  const requests = (): number => server.requests.filter((path) => path === TXN).length;
  const change = (key: string): Change => ({ key, expect: '5', put: VALUE });
  const swap = (...keys: readonly string[]): Promise<SwapResult> => store.compareAndSwap(keys.map(change), CALL);

  it('of one turn of the event loop are one request', async () => {
    expect(await Promise.all([swap('a'), swap('b'), swap('c', 'd')])).toEqual([MADE, MADE, { swapped: true, revisions: ['7', '7'] }]);
    expect(requests()).toBe(1);
  });

  it('share the request with new queue entries', async () => {
    const [, entry] = await Promise.all([swap('a'), store.enqueue('q', 'mine', VALUE, '1f', CALL)]);
    expect(entry).toMatchObject({ key: 'q/mine', revision: '7', order: 7n, lease: '1f' });
    expect(requests()).toBe(1);
  });

  it('of different turns are one request each', async () => {
    await swap('a');
    await swap('b');
    expect(requests()).toBe(2);
  });

  it.each([
    ['time', { timeoutMs: 6_000 }],
    ['signal', { ...CALL, signal: new AbortController().signal }],
  ])('with another %s are separate requests', async (_, other) => {
    await Promise.all([swap('a'), store.compareAndSwap([change('b')], other)]);
    expect(requests()).toBe(2);
  });

  it('are separate requests if one of their keys is the same', async () => {
    await Promise.all([swap('a', 'b'), swap('c', 'b'), swap('d')]);
    expect(requests()).toBe(2);
  });

  it('are separate requests if one only compares what the other writes', async () => {
    const compares = store.compareAndSwap([{ key: 'a', expect: '5' }, change('b')], CALL);
    await Promise.all([compares, swap('a')]);
    expect(requests()).toBe(2);
  });

  const check = (key: string): Change => ({ key, expect: '5' });
  const removal = (key: string): Change => ({ key, expect: '5', delete: true });
  const creation = (key: string): Change => ({ key, expect: null, put: VALUE });

  it.each<[string, Change, Change]>([
    ['only compare, which etcd would do on a member that may lag behind', check('a'), check('b')],
    ['only compare, beside one that writes', check('a'), change('b')],
    ['only delete, which a server without space still does', removal('a'), change('b')],
    ['create keys in the same place, which would get the same order', creation('q/a'), creation('q/b')],
    ['create keys one below the other', creation('q/a'), creation('q/r/b')],
    ['create keys one above the other', creation('q/r/b'), creation('q/a')],
  ])('are separate requests if they %s', async (_, ...both) => {
    await Promise.all(both.map((one) => store.compareAndSwap([one], CALL)));
    expect(requests()).toBe(2);
  });

  it('are separate requests if both add to the same queue, which gives each entry its own place', async () => {
    const add = (queue: string, name: string): Promise<unknown> => store.enqueue(queue, name, VALUE, '1f', CALL);
    await Promise.all([add('q', 'a'), add('q', 'b'), add('r', 'a')]);
    expect(requests()).toBe(2);
  });

  it('are separate requests if their values are long', async () => {
    const put = new Uint8Array(2 ** 19);
    await Promise.all(['a', 'b'].map((key) => store.compareAndSwap([{ key, expect: '5', put }], CALL)));
    expect(requests()).toBe(2);
  });

  it('are divided into requests of at most 64 changes', async () => {
    await Promise.all(Array.from({ length: 65 }, (_, i) => swap(`k${i}`)));
    expect(requests()).toBe(2);
  });

  describe('that also look at the queue', () => {
    const range = (...keys: readonly string[]): Writer => {
      const answer = new Writer().message(1, header());
      for (const key of keys) answer.message(2, new Writer().string(1, `incumbent/${key}`).int64(2, 3n).int64(3, 4n));
      return new Writer().message(1, answer);
    };
    /** Each of these queues has one other entry. Only the first election has a term. */
    const added = (...queues: readonly string[]): Answer => {
      const message = new Writer().message(1, header()).bool(2, true);
      for (const queue of queues) {
        const term = queue === 'q0' ? range('term') : range();
        message
          .message(3, new Writer())
          .message(3, range(`${queue}/mine`, `${queue}/other`))
          .message(3, term);
      }
      return ok(message.finish());
    };
    const add = async (queue: string): Promise<unknown> => {
      let told: unknown;
      const seen = (ahead: readonly Entry[], found?: Entry): void => void (told = [ahead.map(({ key }) => key), found?.key]);
      await store.enqueue(queue, 'mine', VALUE, '1f', { ...CALL, look: { key: 'term', last: 10, seen } });
      return told;
    };

    it('show each new entry what was read for it', async () => {
      answers = [added('q0', 'q1')];
      expect(await Promise.all([add('q0'), add('q1')])).toEqual([
        [['q0/other'], 'term'],
        [['q1/other'], undefined],
      ]);
      expect(requests()).toBe(1);
    });

    it('are divided into requests of at most 96 operations, as a server allows 128', async () => {
      const queues = Array.from({ length: 33 }, (_, i) => `q${i}`);
      answers = [added(...queues.slice(0, 32)), executed];
      const looks = await Promise.all(queues.map(add));
      expect(looks.filter((look) => look === undefined)).toHaveLength(1);
      expect(requests()).toBe(2);
    });

    it('show nothing to an entry that has a transaction of its own, nor of a queue that is longer', async () => {
      answers = [executed];
      expect(await add('q0')).toBeUndefined();
      const long = Array.from({ length: 12 }, (_, i) => `q1/${i}`);
      const message = new Writer().message(1, header()).bool(2, true);
      for (const keys of [['q0/mine'], long])
        message
          .message(3, new Writer())
          .message(3, range(...keys))
          .message(3, range());
      answers = [ok(message.finish())];
      expect(await Promise.all([add('q0'), add('q1')])).toEqual([[[], undefined], undefined]);
    });
  });

  it('are sent one by one if one of them cannot be made', async () => {
    answers = [notExecuted(), executed, notExecuted(1)];
    const both = await Promise.all([swap('a'), swap('b')]);
    expect(both.toSorted((a, b) => Number(a.swapped) - Number(b.swapped))).toEqual([{ swapped: false, failed: [{ index: 0 }] }, MADE]);
    expect(requests()).toBe(3);
  });

  it('are sent one by one if the server refuses one of them', async () => {
    const refusal = fails(5, 'etcdserver: requested lease not found');
    answers = [refusal, refusal];
    const both = await Promise.allSettled([swap('a'), swap('b')]);
    expect(both).toContainEqual({ status: 'fulfilled', value: MADE });
    expect(both).toContainEqual(
      expect.objectContaining({ reason: expect.objectContaining({ code: 'LEASE_EXPIRED', outcome: 'refused' }) }),
    );
    expect(requests()).toBe(3);
  });

  it('are not sent again if the server may have made them', async () => {
    answers = [fails(14, 'etcdserver: leader changed')];
    const both = await Promise.allSettled([swap('a'), swap('b')]);
    for (const one of both) expect(one).toMatchObject({ reason: { code: 'UNAVAILABLE', outcome: 'unknown' } });
    expect(requests()).toBe(1);
  });

  it('reject at their timeout', async () => {
    answers = [notExecuted(), () => {}, () => {}];
    const both = await Promise.allSettled(['a', 'b'].map((key) => store.compareAndSwap([change(key)], { timeoutMs: 100 })));
    for (const one of both) expect(one).toMatchObject({ reason: { code: 'TIMEOUT', outcome: 'unknown' } });
  });

  it('reject with the reason of their signal', async () => {
    answers = [() => {}];
    const given = new AbortController();
    const both = Promise.allSettled(['a', 'b'].map((key) => store.compareAndSwap([change(key)], { ...CALL, signal: given.signal })));
    await expect.poll(requests).toBe(1);
    given.abort('enough');
    for (const one of await both) expect(one).toEqual({ status: 'rejected', reason: 'enough' });
  });

  it('with a lease that no lease of etcd can have do not hold up the others', async () => {
    const impossible = store.compareAndSwap([{ key: 'a', expect: null, put: VALUE, lease: 'none' }], CALL);
    const [theirs, mine] = await Promise.allSettled([impossible, swap('b')]);
    expect(theirs).toMatchObject({ reason: { code: 'LEASE_EXPIRED', outcome: 'refused' } });
    expect(mine).toMatchObject({ value: MADE });
    expect(requests()).toBe(1);
  });
});
