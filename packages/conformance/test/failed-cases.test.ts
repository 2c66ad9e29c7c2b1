/** A case that fails must not leave a rejection that nobody handles: it would hide the failure. */

import { electionCases, runCase } from '@incumbent/conformance';
import { StoreError, type Store } from '@incumbent/core';
import { expect, it } from 'vitest';
import { memoryHarness } from '../../memory/test/harness.ts';
import { intercept } from '../src/intercept.ts';

/** Cases that begin something, and await it only after they have looked at the queue. */
const NAMES = [
  'leadership passes in the order of joining',
  'by priority: the highest first, among equals who joined first',
  'the work has stopped before the successor is elected',
  'members that shut down one after the other pass leadership on, and the last one leaves the election vacant',
  'candidates of another version, whose names have more parts, are waited for',
];

/** A store whose nth list fails with an error that no case expects. */
function failingAt(nth: number): (store: Store) => Store {
  let lists = 0;
  return (store) =>
    intercept(store, ({ operation }, go) => {
      if (operation === 'list') lists += 1;
      if (operation !== 'list' || lists !== nth) return go();
      return Promise.reject(new StoreError('PERMISSION_DENIED', 'refused', 'planted: this list is not permitted'));
    });
}

it.each(NAMES)('"%s" leaves no rejection unhandled when it fails', async (name) => {
  const one = electionCases.find((each) => each.name === name);
  if (one === undefined) throw new Error('there is no such case');
  const unhandled: unknown[] = [];
  const onUnhandled = (reason: unknown): void => void unhandled.push(reason);
  process.on('unhandledRejection', onUnhandled);
  let failed = 0;
  try {
    for (let nth = 1; nth <= 12; nth += 1) {
      await runCase(one, memoryHarness({ wrap: failingAt(nth) }), () => {}).catch(() => (failed += 1));
      // Node reports a rejection when the microtasks are done.
      await new Promise((resolve) => setImmediate(resolve));
    }
  } finally {
    process.off('unhandledRejection', onUnhandled);
  }
  expect(unhandled).toEqual([]);
  expect(failed).toBeGreaterThan(0);
});
