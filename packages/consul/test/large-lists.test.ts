/** Lists whose values are longer in all than a list may be. */

import { describe, expect, it } from 'vitest';

import { ABSENT, openOnFakeAgent, type FakeResponse } from './fake-agent.ts';
import { eventually, scene, Watched } from './watch-scene.ts';

const CALL = { timeoutMs: 5_000 };

/** 60 pairs, whose values have 11 MB in all. */
function largeList(index: number): FakeResponse {
  const Value = Buffer.alloc(180 * 1_024).toString('base64');
  const body = Array.from({ length: 60 }, (_, i) => ({ Key: `app/l/k${i}`, Value, CreateIndex: 10 + i, ModifyIndex: 10 + i }));
  return { ...ABSENT, status: 200, body, headers: { ...ABSENT.headers, 'x-consul-index': String(index) } };
}

describe('a list of long values', () => {
  it('is listed without its values', async () => {
    await using on = await openOnFakeAgent();
    on.agent.respond = () => largeList(99);
    const entries = await on.store.list('l', { ...CALL, values: false, last: 2 });
    expect(entries.map(({ name, value }) => [name, value.length])).toEqual([
      ['k58', 0],
      ['k59', 0],
    ]);
  });

  it('is refused with its values, and the error names the limit', async () => {
    await using on = await openOnFakeAgent();
    on.agent.respond = () => largeList(99);
    const refused = { code: 'STORE_FAILED', message: expect.stringContaining('more than 8.5 MiB in all') };
    await expect(on.store.list('l', CALL)).rejects.toMatchObject(refused);
  });

  it('makes its own watch stale, and no other watch of the query that they share', async () => {
    await using on = await scene({ maxBlockingQueries: 4 });
    on.agent.respond = ({ path, query }) => {
      if (!query.has('consistent')) return undefined;
      return path === '/v1/kv/app/' ? largeList(9) : ABSENT;
    };
    const alone = ['a0', 'a1', 'a2'].map((key) => new Watched(on.store, key));
    await eventually('three queries', () => alone.every(({ seen }) => seen.length === 1));
    const stale: unknown[] = [];
    const list = on.store.watchList('l', { onStale: (cause) => stale.push(cause) })[Symbol.asyncIterator]();
    void list.next();
    await eventually('it is stale', () => stale.length === 1);
    const key = new Watched(on.store, 'l/k59');
    await eventually('the key', () => key.seen.length === 1);
    expect([key.seen, key.stale]).toEqual([['69'], []]);
    expect(stale).toMatchObject([{ code: 'STORE_FAILED' }]);
    void list.return?.();
  });
});
