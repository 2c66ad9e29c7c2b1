/** How large the log becomes, and the warning of a large one. */

import { statSync, truncateSync } from 'node:fs';
import type { Store } from '@incumbent/core';
import { expect, it } from 'vitest';

import { CALL, useRig } from './rig.ts';

const MIB = 1_048_576;

const rig = useRig();

function logBytes(): number {
  return statSync(`${rig().file}-wal`).size;
}

/** Puts 1 MiB several times. SQLite writes only what changes, so each value differs. */
async function write(store: Store, times: number): Promise<void> {
  for (let time = 0; time < times; time += 1) {
    const { revision = null, value: [first = 0] = [] } = (await store.read('a', CALL)) ?? {};
    const value = new Uint8Array(MIB).fill(first + 1);
    expect(await store.compareAndSwap([{ key: 'a', expect: revision, put: value }], CALL)).toMatchObject({ swapped: true });
  }
}

it('the log starts again from its beginning at 4 MiB', async () => {
  const store = await rig().open();
  await write(store, 9);
  // The swap that reaches the limit is in the log, too.
  expect(logBytes()).toBeLessThan(6 * MIB);
});

it('the log grows as long as another program keeps a transaction open, and then starts again', async () => {
  const store = await rig().open();
  const reader = rig().raw();
  reader.exec('BEGIN; SELECT count(*) FROM keys');
  await write(store, 20);
  expect(logBytes()).toBeGreaterThan(20 * MIB);
  reader.exec('COMMIT');
  // The first swap copies the log into the file, and the second one starts it again.
  await write(store, 2);
  expect(logBytes()).toBeLessThanOrEqual(16 * MIB);
});

it('a log of more than 64 MiB is reported, with what keeps it from starting again', async () => {
  const store = await rig().open();
  await write(store, 1);
  const { warnings } = await store.inspect();
  truncateSync(`${rig().file}-wal`, 64 * MIB);
  expect(await store.inspect()).toMatchObject({ warnings });
  truncateSync(`${rig().file}-wal`, 65 * MIB);
  const warning = `${rig().file}-wal, the log, has 65 MiB and does not start again: another program keeps a transaction open`;
  expect(await store.inspect()).toMatchObject({ warnings: [...warnings, expect.stringContaining(warning)] });
});
