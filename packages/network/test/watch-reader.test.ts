import type { StoreError } from '@incumbent/core';
import { ManualClock } from '@incumbent/memory';
import { describe, expect, it } from 'vitest';

import { storeClosed, storeErrorOf, UNFORESEEN, WatchReader } from '@incumbent/network';

/** A watch whose reads the test answers, one after the other. */
function open() {
  const clock = new ManualClock();
  const reads: PromiseWithResolvers<string>[] = [];
  const seen: string[] = [];
  const note =
    (what: string) =>
    ({ code }: StoreError): void =>
      void seen.push(`${what} ${code}`);
  const reader = new WatchReader<string>({
    clock,
    read: () => {
      const read = Promise.withResolvers<string>();
      reads.push(read);
      return read.promise;
    },
    show: (state) => void seen.push(state),
    lose: note('lost'),
    fail: note('failed'),
    toStoreError: (error) => storeErrorOf(error, 'shop watch', () => UNFORESEEN),
  });
  const settle = async (read: number, how: (answer: PromiseWithResolvers<string>) => void): Promise<void> => {
    how(reads[read] ?? expect.unreachable(`read ${read} has not begun`));
    await clock.advance(0);
  };
  const answer = (read: number, state: string): Promise<void> => settle(read, ({ resolve }) => resolve(state));
  const refuse = (read: number, error: unknown): Promise<void> => settle(read, ({ reject }) => reject(error));
  return { clock, reader, reads, seen, answer, refuse };
}

describe('the reader of a watch', () => {
  it('reads nothing before there is a connection', () => {
    const { reader, reads } = open();
    reader.invalidate();
    expect([reads.length, reader.isIdle]).toEqual([0, false]);
  });

  it('reads once for a connection, and then rests', async () => {
    const { reader, reads, seen, answer, clock } = open();
    reader.onConnected();
    expect(reader.isIdle).toBe(false);
    await answer(0, 'one');
    await clock.advance(10_000);
    expect([seen, reads.length, reader.isIdle]).toEqual([['one'], 1, true]);
  });

  it('shows a state that changed meanwhile, and reads once more, however many changes there were', async () => {
    const { reader, reads, seen, answer } = open();
    reader.onConnected();
    for (let changes = 0; changes < 3; changes += 1) reader.invalidate();
    expect(reads.length).toBe(1);
    await answer(0, 'one');
    await answer(1, 'two');
    expect([seen, reads.length]).toEqual([['one', 'two'], 2]);
  });

  it('ignores the result of a read on an earlier connection, and reads again on this one', async () => {
    const { reader, reads, seen, answer } = open();
    reader.onConnected();
    reader.onDisconnected();
    reader.onConnected();
    await answer(0, 'old');
    expect([seen, reads.length]).toEqual([[], 2]);
    await answer(1, 'new');
    expect(seen).toEqual(['new']);
  });

  it('ignores the failure of a read on an earlier connection', async () => {
    const { reader, seen, answer, refuse } = open();
    reader.onConnected();
    reader.onDisconnected();
    reader.onConnected();
    await refuse(0, new Error('cut'));
    await answer(1, 'new');
    expect(seen).toEqual(['new']);
  });

  it('reports a failed read, and reads again 250 ms later, not earlier for a change that was missed', async () => {
    const { clock, reader, reads, seen, answer, refuse } = open();
    reader.onConnected();
    reader.invalidate();
    await refuse(0, new Error('busy'));
    await clock.advance(249);
    expect([seen, reads.length]).toEqual([['lost STORE_FAILED'], 1]);
    await clock.advance(1);
    await answer(1, 'one');
    expect(seen).toEqual(['lost STORE_FAILED', 'one']);
    expect(clock.timers).toBe(0);
  });

  it('does not read again after a failure that a retry does not solve, nor after its connection was lost', async () => {
    const closed = open();
    closed.reader.onConnected();
    await closed.refuse(0, storeClosed('shop'));
    expect([closed.seen, closed.clock.timers]).toEqual([['failed STORE_CLOSED'], 0]);
    const lost = open();
    lost.reader.onConnected();
    await lost.refuse(0, new Error('busy'));
    lost.reader.onDisconnected();
    await lost.clock.advance(10_000);
    expect([lost.reads.length, lost.clock.timers]).toEqual([1, 0]);
  });
});
