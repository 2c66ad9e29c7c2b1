import assert from 'node:assert/strict';
import type { StoreCase } from '../case.ts';
import { bytes, text } from '../client.ts';
import { casesOf } from '../define.ts';
import { refused } from '../expect.ts';
import type { Operator, StoreHarness } from '../harness.ts';

const define = casesOf('operator');

function operatorOf(harness: StoreHarness): Operator {
  assert.ok(harness.operator !== undefined);
  return harness.operator;
}

export const operatorCases: readonly StoreCase[] = [
  define(
    'a key that an operator deletes is gone for reads, swaps and watches, and its lease lives on',
    async (client, harness) => {
      const lease = await client.longLease();
      const revision = await client.create('q/a', 'one', lease);
      const [watch, list] = [client.watch('q/a'), client.watchList('q')];
      await watch.sees((entry) => text(entry) === 'one', 'the key', harness.slackMs);
      await operatorOf(harness).deleteKey('q/a');
      await watch.sees((entry) => entry === undefined, 'the deletion', harness.slackMs);
      await list.sees((entries) => entries.length === 0, 'nothing', harness.slackMs);
      const swap = await client.swap({ key: 'q/a', expect: revision, put: bytes('two') });
      assert.deepEqual(swap, { swapped: false, failed: [{ index: 0, current: undefined }] });
      await client.renew(lease);
      for (const each of [watch, list]) await each.stop(harness.slackMs);
    },
    { needs: ['operator'] },
  ),

  define(
    'a key that an operator writes over has another revision and the operator’s bytes',
    async (client, harness) => {
      const revision = await client.create('a', 'one');
      const watch = client.watch('a');
      await watch.says(1, harness.slackMs);
      await operatorOf(harness).put('a', bytes('by hand'));
      await watch.sees((entry) => entry?.revision !== revision, 'the change', harness.slackMs);
      const entry = await client.get('a');
      assert.equal(text(entry), 'by hand');
      assert.ok(!(await client.swap({ key: 'a', expect: revision, delete: true })).swapped);
      await client.put('a', entry.revision, 'two');
      await watch.stop(harness.slackMs);
    },
    { needs: ['operator'] },
  ),

  define(
    'a lease that an operator ends takes its keys along, and its renewal says LEASE_EXPIRED',
    async (client, harness) => {
      const lease = await client.longLease();
      await client.create('a', 'one', lease);
      await client.enqueue('q', 'name', lease);
      const watch = client.watch('a');
      await watch.sees((entry) => entry !== undefined, 'the key', harness.slackMs);
      await operatorOf(harness).expireLease(lease.id);
      await watch.sees((entry) => entry === undefined, 'that the key is gone', harness.slackMs);
      assert.deepEqual(await client.list('q'), []);
      await refused(client.renew(lease), 'LEASE_EXPIRED');
      await watch.stop(harness.slackMs);
    },
    { needs: ['operator'] },
  ),
];
