import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import type { StoreCase } from '../case.ts';
import { recover } from '../breakable-client.ts';
import { bytes, everyCall } from '../client.ts';
import { casesOf, faultCasesOf } from '../define.ts';
import { times } from '../combinations.ts';
import { begun, sleep, within } from '../time.ts';

const define = casesOf('abort');
const defineFault = faultCasesOf('abort');

/** Expects the call to reject with exactly this reason. */
async function rejectsWith(call: Promise<unknown>, reason: unknown, what: string): Promise<void> {
  const [settled] = await Promise.allSettled([call]);
  assert.equal(settled.status, 'rejected', `${what} succeeded`);
  assert.equal(settled.status === 'rejected' && settled.reason, reason, `${what} rejected with something else than the signal's reason`);
}

export const abortCases: readonly StoreCase[] = [
  define('a call whose signal has aborted rejects with its reason and does nothing', async (client) => {
    const lease = await client.longLease();
    const reason = new Error('enough');
    const options = { ...client.call(), signal: AbortSignal.abort(reason) };
    for (const { operation, call } of everyCall(client, lease)) await rejectsWith(call(options), reason, operation);
    assert.equal(await client.read('swapped'), undefined);
    assert.deepEqual(await client.list('queued'), []);
    await client.renew(lease);
  }),

  define('the reason may be anything', async (client) => {
    await rejectsWith(client.store.read('a', { ...client.call(), signal: AbortSignal.abort('words') }), 'words', 'read');
  }),

  defineFault('a call under way rejects with the reason of its signal, at once', { faults: ['stall'] }, async (broken, _, harness) => {
    const lease = await broken.client.longLease();
    await broken.faults.stall();
    for (const { operation, call } of everyCall(broken.client, lease)) {
      const stop = new AbortController();
      const reason = new Error(`no ${operation}`);
      const ended = begun(rejectsWith(call({ ...broken.client.call(), signal: stop.signal }), reason, operation));
      await sleep(harness.clock, harness.slackMs / 20);
      stop.abort(reason);
      await within(harness.clock, harness.slackMs / 2, `${operation} rejects`, ended);
    }
    await recover(broken);
  }),

  defineFault('the abort of one call leaves the others alone', { faults: ['stall'] }, async (broken, _, harness) => {
    const stop = new AbortController();
    await broken.faults.stall();
    const aborted = begun(rejectsWith(broken.client.store.read('a', { ...broken.client.call(), signal: stop.signal }), 'enough', 'read'));
    const other = begun(broken.client.swap({ key: 'b', expect: null, put: bytes('one') }));
    await sleep(harness.clock, harness.slackMs / 20);
    stop.abort('enough');
    await aborted;
    await broken.faults.heal();
    assert.ok((await other).swapped);
  }),

  define('an abort after the answer changes nothing', async (client) => {
    const stop = new AbortController();
    const swap = await client.store.compareAndSwap([{ key: 'a', expect: null, put: bytes('one') }], {
      ...client.call(),
      signal: stop.signal,
    });
    stop.abort();
    assert.ok(swap.swapped);
    await client.get('a');
  }),

  define('1,000 calls leave no listener on their signal', async (client) => {
    const { signal } = new AbortController();
    for (const _ of times(50)) await Promise.all(times(20).map(() => client.store.read('a', { ...client.call(), signal })));
    // One listener for all calls is not a leak.
    assert.ok(getEventListeners(signal, 'abort').length <= 1, `${getEventListeners(signal, 'abort').length} listeners are left`);
  }),
];
