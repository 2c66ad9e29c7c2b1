import assert from 'node:assert/strict';
import type { CallOptions } from '@incumbent/core';
import { DEFAULT_CALL_TIMEOUT_MS } from '@incumbent/core/adapter';
import type { StoreCase } from '../case.ts';
import { beginFault, breakable, recover, type Breakable } from '../breakable-client.ts';
import { bytes, everyCall, text, type Client } from '../client.ts';
import { casesOf, faultCasesOf } from '../define.ts';
import { expiry, fails, goneWithinMs, refused } from '../expect.ts';
import type { FaultKind, StoreHarness } from '../harness.ts';
import { begun, sleep, until, within } from '../time.ts';

const define = casesOf('unknown outcomes');
const defineFault = faultCasesOf('unknown outcomes');

const swapA = (one: Breakable, value: string): Promise<unknown> =>
  one.client.store.compareAndSwap([{ key: 'a', expect: null, put: bytes(value) }], one.short);

/**
 * Expects every kind of call to end in time with an unknown outcome, over a link that loses or
 * holds everything.
 */
async function allEndInTime(harness: StoreHarness, kind: 'cut' | 'stall', timeout: 'short' | 'default' = 'short'): Promise<void> {
  const broken = await breakable(harness);
  const lease = await broken.client.longLease();
  await beginFault(broken, kind);
  const options: CallOptions = timeout === 'short' ? broken.short : {};
  const withinMs = (options.timeoutMs ?? DEFAULT_CALL_TIMEOUT_MS) + harness.slackMs;
  const calls = everyCall(broken.client, lease).map(({ operation, call }) =>
    within(harness.clock, withinMs, `${operation} ends`, fails(call(options), ['unknown', 'notSent'])),
  );
  await Promise.all(calls);
  await recover(broken);
}

function recoversFrom(kind: FaultKind): StoreCase {
  const body = async (client: Client, harness: StoreHarness): Promise<void> => {
    const broken = await breakable(harness);
    const revision = await client.create('a', 'one');
    await beginFault(broken, kind);
    await Promise.allSettled([broken.client.store.read('a', broken.short)]);
    await recover(broken);
    await broken.client.put('a', revision, 'two');
    const lease = await broken.client.longLease();
    await broken.client.renew(lease);
    await broken.client.enqueue('q', 'name', lease);
    assert.deepEqual([text(await client.read('a')), await client.names('q')], ['two', ['name']]);
  };
  return define(`after a fault (${kind}) and heal the same client works again, in time`, body, { faults: [kind] });
}

export const unknownCases: readonly StoreCase[] = [
  defineFault(
    'a swap that was applied and whose answer was lost is unknown, and there: it is not tried again',
    { faults: ['dropReply'] },
    async (broken, client) => {
      // The first call of its kind may need more than one request.
      await broken.client.create('b', '');
      await broken.faults.dropNextReply();
      await fails(swapA(broken, 'one'), ['unknown']);
      assert.equal(text(await client.read('a')), 'one');
      await recover(broken);
    },
  ),

  defineFault(
    'an enqueue whose answer was lost is found again by asking again: one entry, in its place',
    { faults: ['dropReply'] },
    async (broken, client) => {
      const lease = await broken.client.longLease();
      await client.enqueue('q', 'first', await client.longLease());
      await broken.faults.dropNextReply();
      await fails(broken.client.store.enqueue('q', 'mine', bytes('one'), lease.id, broken.short), ['unknown']);
      await recover(broken);
      await client.enqueue('q', 'other', await client.longLease());
      const again = await broken.client.enqueue('q', 'mine', lease, 'two');
      assert.equal(text(again), 'one');
      assert.deepEqual(await client.names('q'), ['first', 'mine', 'other']);
    },
  ),

  defineFault('a swap that never arrived is unknown, and never applied', { faults: ['dropRequests'] }, async (broken, client, harness) => {
    await broken.faults.dropRequests();
    await fails(swapA(broken, 'one'), ['unknown', 'notSent']);
    assert.equal(await client.read('a'), undefined);
    await recover(broken);
    await sleep(harness.clock, harness.slackMs / 2);
    assert.equal(await client.read('a'), undefined);
  }),

  defineFault(
    'a swap towards a store that refuses connections is notSent or unknown, never refused, and never applied',
    { faults: ['refuse'] },
    async (broken, client, harness) => {
      await broken.faults.refuse();
      for (const value of ['one', 'two', 'three']) {
        await within(
          harness.clock,
          broken.short.timeoutMs + harness.slackMs,
          'it ends',
          fails(swapA(broken, value), ['notSent', 'unknown']),
        );
      }
      await recover(broken);
      await sleep(harness.clock, harness.slackMs / 2);
      assert.equal(await client.read('a'), undefined);
    },
  ),

  define('through a dead link every call ends by its timeout, and none says refused', (_, harness) => allEndInTime(harness, 'cut'), {
    faults: ['cut'],
  }),

  define('through a stalled link every call ends by its timeout, and none says refused', (_, harness) => allEndInTime(harness, 'stall'), {
    faults: ['stall'],
  }),

  define(
    'through a stalled link every call without a timeout ends by the default one',
    (_, harness) => allEndInTime(harness, 'stall', 'default'),
    {
      faults: ['stall'],
    },
  ),

  defineFault('a write through a dead link is unknown', { needs: ['wire'], faults: ['cut'] }, async (broken) => {
    await broken.faults.cut();
    await fails(swapA(broken, 'one'), ['unknown']);
    await recover(broken);
  }),

  defineFault(
    'a swap that was held beyond its time is unknown: applied late or never, once at most',
    { needs: ['wire'], faults: ['stall'] },
    async (broken, client, harness) => {
      const revision = await client.create('a', 'old');
      await broken.faults.stall();
      await fails(broken.client.store.compareAndSwap([{ key: 'a', expect: revision, put: bytes('late') }], broken.short), ['unknown']);
      await recover(broken);
      await sleep(harness.clock, harness.slackMs);
      const settled = await client.get('a');
      assert.ok(['old', 'late'].includes(text(settled) ?? ''));
      await client.put('a', settled.revision, 'new');
      await sleep(harness.clock, harness.slackMs);
      assert.equal(text(await client.read('a')), 'new');
    },
  ),

  defineFault(
    'a renewal that is delivered after a later one does not shorten the lease',
    { needs: ['wire', 'sharedLeases'], faults: ['stall'] },
    async (broken, client, harness) => {
      // Longer than usual, because the machine may stall before the later renewal.
      const lease = await broken.client.grant(4 * harness.ttlMs);
      await broken.client.create('a', 'one', lease);
      await broken.faults.stall();
      const held = begun(broken.client.renew(lease));
      await sleep(harness.clock, harness.ttlMs / 4);
      const later = await client.renew(lease);
      await broken.faults.heal();
      await Promise.allSettled([held]);
      await expiry(client, harness, 'a', { ...lease, ...later });
    },
  ),

  defineFault(
    'a call whose connection is reset ends as unknown, at once, and not by its timeout',
    { needs: ['wire'], faults: ['stall', 'reset'] },
    async (broken, client, harness) => {
      await broken.faults.stall();
      const swap = begun(fails(broken.client.swap({ key: 'a', expect: null, put: bytes('one') }), ['unknown']));
      await sleep(harness.clock, harness.slackMs / 4);
      await broken.faults.reset();
      await within(harness.clock, harness.slackMs, 'the swap ends', swap);
      await recover(broken);
      assert.ok([undefined, 'one'].includes(text(await client.read('a'))));
    },
  ),

  defineFault(
    'the lease of a client that is cut off expires in time, and its renewal after heal says LEASE_EXPIRED',
    { faults: ['cut'] },
    async (broken, client, harness) => {
      const lease = await broken.client.shortLease();
      await broken.client.create('a', 'one', lease);
      await broken.faults.cut();
      const isGone = async (): Promise<boolean> => (await client.read('a')) === undefined;
      await until(harness.clock, isGone, { withinMs: goneWithinMs(client, harness, lease), what: 'the key vanishes' });
      await recover(broken);
      await refused(broken.client.renew(lease), 'LEASE_EXPIRED');
    },
  ),

  ...(['cut', 'refuse', 'dropReply', 'dropRequests', 'stall', 'reset'] as const).map(recoversFrom),
];
