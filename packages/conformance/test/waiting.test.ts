/** A wait that fails is a broken guarantee, and says what was seen last. */

import assert from 'node:assert/strict';
import { runCase } from '@incumbent/conformance';
import { StoreError, type Clock } from '@incumbent/core';
import { ManualClock } from '@incumbent/memory';
import { describe, expect, it } from 'vitest';
import { memoryHarness } from '../../memory/test/harness.ts';
import type { Arena } from '../src/election/arena.ts';
import { casesOf } from '../src/define.ts';
import { electionCasesOf } from '../src/election/define.ts';
import { begun, sleep, until, within } from '../src/time.ts';

const skip = (reason: string): never => expect.unreachable(reason);

/** The error that a wait rejects with. */
async function failureOf(wait: (clock: Clock) => Promise<unknown>): Promise<unknown> {
  const clock = new ManualClock();
  const failed = begun(wait(clock));
  await clock.run(failed.catch(() => {}));
  return failed.then(
    () => undefined,
    (error: unknown) => error,
  );
}

describe('a wait that takes too long rejects with an AssertionError', () => {
  it.each([
    ['until', (clock: Clock) => until(clock, () => false, { withinMs: 30, what: 'the sun rises' })],
    ['within', (clock: Clock) => within(clock, 30, 'the sun rises', sleep(clock, 100))],
  ])('%s', async (_, wait) => {
    const error = await failureOf(wait);
    assert.ok(error instanceof assert.AssertionError);
    expect(error.message).toBe('not within 30 ms: the sun rises');
    expect('cause' in error).toBe(false);
  });
});

describe('a case that waits in vain', () => {
  const inElection = (body: (arena: Arena) => Promise<void>): Promise<unknown> =>
    runCase(electionCasesOf('election')('planted', body), memoryHarness(), skip).catch((error: unknown) => error);

  it('tells the last error of a store that did not answer', async () => {
    const planted = new StoreError('TIMEOUT', 'unknown', 'planted: no answer');
    const error = await inElection((arena) => arena.until(() => Promise.reject(planted), 'the store answers', 100));
    assert.ok(error instanceof assert.AssertionError);
    expect(error.message).toBe('not within 100 ms: the store answers; the last error of a check: TIMEOUT planted: no answer');
    expect(error.cause).toBe(planted);
  });

  it('passes on at once an error that no retry solves', async () => {
    const planted = new StoreError('PERMISSION_DENIED', 'refused', 'planted: not permitted');
    expect(await inElection((arena) => arena.until(() => Promise.reject(planted), 'the store answers', 100))).toBe(planted);
  });

  it('tells the latest state of a watch', async () => {
    const messages: unknown[] = [];
    const one = casesOf('watch')('planted', async (client) => {
      const wait = async (watch: { sees: (accept: () => boolean, what: string, withinMs: number) => Promise<void> }): Promise<void> => {
        await watch.sees(() => false, 'what never comes', 50).catch((error: unknown) => messages.push(String(error)));
      };
      const absent = client.watch('list/a');
      await wait(absent);
      await absent.stop(100);
      await client.create('list/a', 'first');
      await client.create('list/b', 'second');
      for (const watch of [client.watch('list/b'), client.watchList('list')]) {
        await wait(watch);
        await watch.stop(100);
      }
    });
    await runCase(one, memoryHarness(), skip);
    expect(messages).toEqual(
      ['absent', 'list/b = "second"', '[list/a = "first", list/b = "second"]'].map(
        (state) => `AssertionError [ERR_ASSERTION]: not within 50 ms: the watch shows what never comes; its latest state: ${state}`,
      ),
    );
  });
});
