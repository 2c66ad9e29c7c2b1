import assert from 'node:assert/strict';
import { outcomeOf } from '@incumbent/core';
import type { StoreCase } from '../case.ts';
import { connect, everyCall, text } from '../client.ts';
import { casesOf, faultCasesOf } from '../define.ts';
import { fails } from '../expect.ts';
import { times } from '../combinations.ts';
import { begun, sleep, within } from '../time.ts';

const define = casesOf('close');
const defineFault = faultCasesOf('close');

export const closeCases: readonly StoreCase[] = [
  define('closing twice, or twice at once, is closing', async (client) => {
    await Promise.all([client.store.close(), client.store.close()]);
    await client.store.close();
    await client.store[Symbol.asyncDispose]();
  }),

  define('disposing is closing', async (client) => {
    await client.store[Symbol.asyncDispose]();
    await fails(client.read('a'), ['notSent'], 'STORE_CLOSED');
  }),

  define('every call after close fails with STORE_CLOSED, notSent', async (client, harness) => {
    const other = await connect(harness);
    const lease = await client.longLease();
    await client.store.close();
    for (const { call } of everyCall(client, lease)) await fails(call(client.call()), ['notSent'], 'STORE_CLOSED');
    assert.equal(await other.read('swapped'), undefined);
  }),

  define('other clients go on', async (client, harness) => {
    const other = await connect(harness);
    const watch = other.watch('a');
    await watch.says(1, harness.slackMs);
    await client.store.close();
    await other.create('a', 'one');
    await watch.sees((entry) => text(entry) === 'one', 'the creation', harness.slackMs);
    await watch.stop(harness.slackMs);
  }),

  define('calls made and not awaited before close end, each as what it was', async (client, harness) => {
    const calls = times(20).map((i) => client.create(`k${i}`, 'one'));
    const settled = Promise.allSettled(calls);
    await client.store.close();
    const outcomes = await within(harness.clock, harness.timeoutMs, 'the calls end', settled);
    const other = await connect(harness);
    // Wait for what is still on its way.
    await sleep(harness.clock, harness.slackMs / 2);
    for (const [i, outcome] of outcomes.entries()) {
      const written = text(await other.read(`k${i}`));
      if (outcome.status === 'fulfilled') assert.equal(written, 'one');
      else {
        const error = await fails(calls[i] ?? Promise.resolve(), ['unknown', 'notSent'], 'STORE_CLOSED');
        if (outcomeOf(error) === 'notSent') assert.equal(written, undefined, 'a write that was said not to be sent was applied');
      }
    }
  }),

  defineFault(
    'calls under way end with STORE_CLOSED when their store is closed, at once',
    { faults: ['stall'] },
    async (broken, _, harness) => {
      const lease = await broken.client.longLease();
      await broken.faults.stall();
      const calls = everyCall(broken.client, lease).map(({ call }) =>
        begun(fails(call(broken.client.call()), ['unknown', 'notSent'], 'STORE_CLOSED')),
      );
      await sleep(harness.clock, harness.slackMs / 20);
      await within(harness.clock, harness.slackMs, 'close resolves', broken.client.store.close());
      await within(harness.clock, harness.slackMs, 'the calls end', Promise.all(calls));
    },
  ),

  defineFault('closing through a dead link takes bounded time, and ends its watches', { faults: ['cut'] }, async (broken, _, harness) => {
    const watch = broken.client.watch('a');
    await watch.says(1, harness.slackMs);
    await broken.faults.cut();
    await within(harness.clock, harness.timeoutMs + harness.slackMs, 'close resolves', broken.client.store.close());
    await fails(watch.end(harness.slackMs), ['unknown', 'notSent'], 'STORE_CLOSED');
  }),

  define(
    'nothing is left behind: no timer, watch or socket',
    async (client, harness) => {
      const other = await connect(harness);
      const lease = await client.longLease();
      const watches = [client.watch('a'), client.watchList('q'), other.watch('a')];
      for (const watch of watches) await watch.says(1, harness.slackMs);
      await client.create('a', 'one', lease);
      await client.revoke(lease);
      await watches[0]?.stop(harness.slackMs);
      const brief = times(100).map((i) => client.watch(`brief/${i}`));
      await Promise.all(brief.map((watch) => watch.stop(harness.slackMs)));
      await client.store.close();
      await other.store.close();
      await sleep(harness.clock, harness.slackMs);
      assert.deepEqual(await harness.leaks?.(), []);
    },
    { needs: ['leaks'] },
  ),
];
