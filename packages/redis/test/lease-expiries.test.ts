import type { LeaseId } from '@incumbent/core';
import { ManualClock } from '@incumbent/memory';
import { describe, expect, it } from 'vitest';

import type { StoredEntry } from '../src/protocol/entries.ts';
import { LeaseExpiries, type LeaseListener } from '../src/watch-hub/lease-expiries.ts';

/** The longest delay of a question: the spread, and one millisecond. */
const LATEST_MS = 21;

function stored(lease: LeaseId, remainingMs: number | undefined, key = 'k'): StoredEntry {
  return { entry: { key, name: key, value: new Uint8Array(), revision: '1', order: 1n, lease }, remainingMs };
}

class Listener implements LeaseListener {
  readonly ended: LeaseId[] = [];

  onLeaseEnded(lease: LeaseId): void {
    this.ended.push(lease);
  }

  invalidations = 0;

  invalidate(): void {
    this.invalidations += 1;
  }
}

/** `remaining` is the time that each lease has on the server, `asked` the questions that it got. */
function scene(): {
  readonly clock: ManualClock;
  readonly expiries: LeaseExpiries;
  readonly asked: (readonly LeaseId[])[];
  readonly remaining: Map<LeaseId, number>;
  readonly break: (broken: boolean) => void;
} {
  const clock = new ManualClock();
  const asked: (readonly LeaseId[])[] = [];
  const remaining = new Map<LeaseId, number>();
  let broken = false;
  const expiries = new LeaseExpiries(clock, async (leases) => {
    asked.push(leases);
    if (broken) throw new Error('the link is lost');
    return leases.map((lease) => remaining.get(lease));
  });
  return { clock, expiries, asked, remaining, break: (now) => (broken = now) };
}

describe('a lease of a watched key', () => {
  it('is asked for when its time is over and not before, and its end reaches all watches', async () => {
    const { clock, expiries, asked } = scene();
    const [one, other] = [new Listener(), new Listener()];
    expiries.track(one, [stored('a', 1_000)]);
    expiries.track(other, [stored('a', 1_000)]);
    await clock.advance(1_000);
    expect(asked).toEqual([]);
    await clock.advance(LATEST_MS);
    expect(asked).toEqual([['a']]);
    expect([one.ended, other.ended]).toEqual([['a'], ['a']]);
  });

  it('that was renewed is asked for again when its new time is over', async () => {
    const { clock, expiries, asked, remaining } = scene();
    const watch = new Listener();
    remaining.set('a', 600);
    expiries.track(watch, [stored('a', 1_000)]);
    await clock.advance(1_000 + LATEST_MS);
    expect([asked.length, watch.ended]).toEqual([1, []]);
    remaining.delete('a');
    await clock.advance(550);
    expect(asked).toHaveLength(1);
    await clock.advance(50 + LATEST_MS);
    expect([asked.length, watch.ended]).toEqual([2, ['a']]);
  });

  it('that this store renews itself is not asked for', async () => {
    const { clock, expiries, asked } = scene();
    expiries.track(new Listener(), [stored('a', 1_000)]);
    for (let i = 0; i < 30; i += 1) {
      await clock.advance(300);
      expiries.onRenewed('a', clock.monotonic() + 1_000);
    }
    expect(asked).toEqual([]);
    await clock.advance(1_000 + 2 * LATEST_MS);
    expect(asked).toEqual([['a']]);
  });

  it('that this store has renewed is asked for when its ttl is over, counted from the sending of the renewal', async () => {
    const { clock, expiries, asked } = scene();
    expiries.track(new Listener(), [stored('a', 1_000)]);
    await clock.advance(300);
    const sentMs = clock.monotonic();
    await clock.advance(600);
    expiries.onRenewed('a', sentMs + 1_000);
    await clock.advance(390);
    expect(asked).toEqual([]);
    await clock.advance(10 + 2 * LATEST_MS);
    expect(asked).toEqual([['a']]);
  });

  it('that has no end is asked for every 10 s, because an operator may end it without a notice', async () => {
    const { clock, expiries, asked, remaining } = scene();
    const watch = new Listener();
    expiries.track(watch, [stored('a', undefined)]);
    expiries.track(watch, [stored('a', undefined), stored('b', 100)]);
    remaining.set('a', Infinity).set('b', Infinity);
    await clock.advance(35_000);
    expect(asked.length).toBeLessThan(9);
    remaining.delete('a');
    await clock.advance(10_000 + LATEST_MS);
    expect(watch.ended).toEqual(['a']);
  });

  it('is asked for once for all its keys', async () => {
    const { clock, expiries, asked } = scene();
    const watch = new Listener();
    expiries.track(watch, [stored('a', 900, 'k1'), stored('a', 900, 'k2')]);
    await clock.advance(2_000);
    expect([asked, watch.ended]).toEqual([[['a']], ['a']]);
  });

  it('is asked for again after the question failed', async () => {
    const { clock, expiries, asked, ...rest } = scene();
    const watch = new Listener();
    expiries.track(watch, [stored('a', 100)]);
    rest.break(true);
    await clock.advance(1_000);
    expect(asked.length).toBeGreaterThan(2);
    expect([watch.ended, watch.invalidations]).toEqual([[], asked.length]);
    rest.break(false);
    await clock.advance(300);
    expect(watch.ended).toEqual(['a']);
  });
});

it('without watches there is no timer and no question', async () => {
  const { clock, expiries, asked } = scene();
  const watches = Array.from({ length: 10 }, () => new Listener());
  for (const [index, watch] of watches.entries()) expiries.track(watch, [stored('a', 500), stored(`b${index}`, 500)]);
  expect(clock.timers).toBe(11);
  for (const watch of watches) expiries.track(watch, []);
  expect(clock.timers).toBe(0);
  await clock.advance(5_000);
  expect(asked).toEqual([]);
});

it('a watch depends on the leases of its current entries only', async () => {
  const { clock, expiries, asked, remaining } = scene();
  const watch = new Listener();
  remaining.set('b', 10_000);
  expiries.track(watch, [stored('a', 500)]);
  expiries.track(watch, [stored('b', 700)]);
  await clock.advance(1_000);
  expect([asked, watch.ended]).toEqual([[['b']], []]);
});
