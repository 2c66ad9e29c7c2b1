import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import type { Entry } from '@incumbent/core';
import type { StoreCase } from '../case.ts';
import { connect, text } from '../client.ts';
import { casesOf } from '../define.ts';
import { fails } from '../expect.ts';
import { sleep, within } from '../time.ts';

const define = casesOf('watch');

/** Takes one state and stops. */
async function firstOf<T>(watch: AsyncIterable<T>): Promise<T | undefined> {
  for await (const state of watch) return state;
  return undefined;
}

export const watchEndCases: readonly StoreCase[] = [
  define('aborted before it began, it says nothing and ends quietly', async (client, { slackMs }) => {
    const watches = [client.watch('a', { signal: AbortSignal.abort() }), client.watchList('a', { signal: AbortSignal.abort() })];
    for (const watch of watches) {
      await watch.end(slackMs);
      assert.deepEqual(watch.states, []);
    }
  }),

  define('aborted while it waits, it ends quietly and at once', async (client, { slackMs }) => {
    const stop = new AbortController();
    const watches = [client.watch('a', { signal: stop.signal }), client.watchList('b', { signal: stop.signal })];
    for (const watch of watches) await watch.says(1, slackMs);
    stop.abort(new Error('enough'));
    for (const watch of watches) await watch.end(slackMs);
  }),

  define(
    'aborted while its consumer is busy, it ends quietly when asked for more, and shows no more',
    async (client, { clock, slackMs }) => {
      const stop = new AbortController();
      const gate = Promise.withResolvers<void>();
      const watch = client.watch('a', { signal: stop.signal, pause: () => gate.promise });
      await watch.says(1, slackMs);
      await client.create('a', 'one');
      await sleep(clock, slackMs / 4);
      stop.abort();
      gate.resolve();
      await watch.end(slackMs);
      assert.deepEqual(watch.states, [undefined]);
    },
  ),

  define('left by its consumer, it frees what it held, and leaves the signal alone', async (client, { clock, slackMs }) => {
    const { signal } = new AbortController();
    await client.create('a/b', 'one');
    assert.equal(text(await firstOf<Entry | undefined>(client.store.watch('a/b', { signal }))), 'one');
    assert.equal((await firstOf(client.store.watchList('a', { signal })))?.length, 1);
    await sleep(clock, slackMs / 4);
    assert.ok(getEventListeners(signal, 'abort').length <= 1, 'a listener is left on the signal');
  }),

  define('asked for its end by return, it ends', async (client, { clock, slackMs }) => {
    const watch = client.store.watch('a', { signal: new AbortController().signal })[Symbol.asyncIterator]();
    assert.deepEqual(await watch.next(), { done: false, value: undefined });
    await within(clock, slackMs, 'return resolves', Promise.resolve(watch.return?.()));
    assert.equal((await watch.next()).done, true);
  }),

  define('it ends with STORE_CLOSED when its store is closed, waiting or not yet begun', async (_, harness) => {
    const other = await connect(harness);
    const watches = [other.watch('a'), other.watchList('b')];
    for (const watch of watches) await watch.says(1, harness.slackMs);
    await other.store.close();
    for (const watch of [...watches, other.watch('a'), other.watchList('b')]) {
      await fails(watch.end(harness.slackMs), ['notSent', 'unknown'], 'STORE_CLOSED');
    }
  }),
];
