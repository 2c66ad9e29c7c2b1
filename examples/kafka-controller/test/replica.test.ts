import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { IncumbentError } from 'incumbent';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Partition } from '../partitions.ts';
import { Replica } from '../replica.ts';

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'incumbent-replica-'))));
afterEach(() => rmSync(folder, { recursive: true }));

/** Waits until all promises that can settle have settled. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

it('a leader stays when the wish of its own former leadership is refused for its new epoch', async () => {
  const wish = Promise.withResolvers<Partition>();
  let wishes = 0;
  const replica = new Replica({
    partition: 't-0',
    self: 'b1',
    path: join(folder, 't-0.log'),
    peers: {
      append: () => Promise.resolve(undefined),
      alterIsr: () => ((wishes += 1) === 1 ? wish.promise : Promise.withResolvers<Partition>().promise),
    },
    changed: () => {},
  });
  const first: Partition = { replicas: ['b1', 'b2'], target: null, leader: 'b1', leaderEpoch: 1, isr: ['b1'], version: 1 };
  replica.apply(first);
  await settle();
  expect(wishes).toBe(1);
  replica.apply({ ...first, leaderEpoch: 3, version: 3 });
  wish.reject(new IncumbentError('STALE_TERM', 'epoch 1 is older than epoch 3', { details: { term: 1n, seen: 3n } }));
  await settle();
  expect(replica.leads).toBe(true);
  expect(replica.epoch).toBe(3);
  replica.close();
});
