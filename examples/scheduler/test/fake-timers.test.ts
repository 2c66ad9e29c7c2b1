/** Code that takes no clock, under the fake timers of Vitest. */

import { Member, openStore } from 'incumbent';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A member whose loss of a leadership prints no warning. */
function memberOf(store: Awaited<ReturnType<typeof openStore>>, memberId: string): Member {
  return new Member(store, { memberId, logger: { debug() {}, info() {}, warn() {}, error() {} } });
}

it('keeps its leadership while the fake time passes, and hands it over', async () => {
  await using store = await openStore('memory:fake-timers');
  const [a, b] = [memberOf(store, 'a'), memberOf(store, 'b')];
  const first = await a.election('jobs').campaign();
  const next = b.election('jobs').campaign();
  await vi.advanceTimersByTimeAsync(30_000);
  expect(first.isValid()).toBe(true);
  await first.resign();
  await vi.advanceTimersByTimeAsync(100);
  expect((await next).term).toBe(2n);
  await Promise.all([a.close(), b.close()]);
});

it('loses its leadership when the time jumps', async () => {
  await using store = await openStore('memory:fake-jump');
  const member = memberOf(store, 'a');
  const leadership = await member.election('jobs').campaign();
  vi.setSystemTime(Date.now() + 60_000);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(leadership.isValid()).toBe(false);
  await member.close();
});

it('loses its leadership when the time passes without promises', async () => {
  await using store = await openStore('memory:fake-sync');
  const member = memberOf(store, 'a');
  const leadership = await member.election('jobs').campaign();
  vi.advanceTimersByTime(30_000);
  expect((await leadership.ended).reason).toBe('deadline');
  await vi.advanceTimersByTimeAsync(1_000);
  await member.close();
});
