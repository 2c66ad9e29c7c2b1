import type { LeaseId } from '@incumbent/core';
import { ManualClock } from '@incumbent/memory';
import { describe, expect, it } from 'vitest';

import { Expiries, type Bereaved } from '../src/watch-hub/lease-expiries.ts';
import type { Row } from '../src/namespace.ts';

/** The spread, and the millisecond that a server's may be longer. */
const LATEST_MS = 21;

function row(lease: LeaseId, leftMs: number | undefined, key = 'k'): Row {
  return { entry: { key, name: key, value: new Uint8Array(), revision: '1', order: 1n, lease }, leftMs };
}

class Mourner implements Bereaved {
  readonly lost: LeaseId[] = [];

  drop(lease: LeaseId): void {
    this.lost.push(lease);
  }

  doubts = 0;

  doubt(): void {
    this.doubts += 1;
  }
}

/** What a server would say, and what it was asked. */
function scene(): {
  readonly clock: ManualClock;
  readonly expiries: Expiries;
  readonly asked: (readonly LeaseId[])[];
  readonly lefts: Map<LeaseId, number>;
  readonly break: (broken: boolean) => void;
} {
  const clock = new ManualClock();
  const asked: (readonly LeaseId[])[] = [];
  const lefts = new Map<LeaseId, number>();
  let broken = false;
  const expiries = new Expiries(clock, async (leases) => {
    asked.push(leases);
    if (broken) throw new Error('the link is lost');
    return leases.map((lease) => lefts.get(lease));
  });
  return { clock, expiries, asked, lefts, break: (now) => (broken = now) };
}

describe('a lease that is watched', () => {
  it('is asked for when its time is over, and not before; gone, its watches are told', async () => {
    const { clock, expiries, asked } = scene();
    const [one, other] = [new Mourner(), new Mourner()];
    expiries.follow(one, [row('a', 1_000)]);
    expiries.follow(other, [row('a', 1_000)]);
    await clock.advance(1_000);
    expect(asked).toEqual([]);
    await clock.advance(LATEST_MS);
    expect(asked).toEqual([['a']]);
    expect([one.lost, other.lost]).toEqual([['a'], ['a']]);
  });

  it('that was renewed is asked for when its new time is over', async () => {
    const { clock, expiries, asked, lefts } = scene();
    const watch = new Mourner();
    lefts.set('a', 600);
    expiries.follow(watch, [row('a', 1_000)]);
    await clock.advance(1_000 + LATEST_MS);
    expect([asked.length, watch.lost]).toEqual([1, []]);
    lefts.delete('a');
    await clock.advance(550);
    expect(asked).toHaveLength(1);
    await clock.advance(50 + LATEST_MS);
    expect([asked.length, watch.lost]).toEqual([2, ['a']]);
  });

  it('that this store itself renews is not asked for', async () => {
    const { clock, expiries, asked } = scene();
    expiries.follow(new Mourner(), [row('a', 1_000)]);
    for (let i = 0; i < 30; i += 1) {
      await clock.advance(300);
      expiries.extend('a', 1_000);
    }
    expect(asked).toEqual([]);
    await clock.advance(1_000 + 2 * LATEST_MS);
    expect(asked).toEqual([['a']]);
  });

  it('that an operator has made last is asked for now and then, as nobody tells when that is over', async () => {
    const { clock, expiries, asked, lefts } = scene();
    const watch = new Mourner();
    expiries.follow(watch, [row('a', undefined)]);
    expiries.follow(watch, [row('a', undefined), row('b', 100)]);
    lefts.set('a', Infinity).set('b', Infinity);
    await clock.advance(35_000);
    expect(asked.length).toBeLessThan(9);
    lefts.delete('a');
    await clock.advance(10_000 + LATEST_MS);
    expect(watch.lost).toEqual(['a']);
  });

  it('is one question for all its keys', async () => {
    const { clock, expiries, asked } = scene();
    const watch = new Mourner();
    expiries.follow(watch, [row('a', 900, 'k1'), row('a', 900, 'k2')]);
    await clock.advance(2_000);
    expect([asked, watch.lost]).toEqual([[['a']], ['a']]);
  });

  it('is asked for again where the question failed', async () => {
    const { clock, expiries, asked, ...rest } = scene();
    const watch = new Mourner();
    expiries.follow(watch, [row('a', 100)]);
    rest.break(true);
    await clock.advance(1_000);
    expect(asked.length).toBeGreaterThan(2);
    expect([watch.lost, watch.doubts]).toEqual([[], asked.length]);
    rest.break(false);
    await clock.advance(300);
    expect(watch.lost).toEqual(['a']);
  });
});

it('nothing is left when nobody watches: no timer, and no question', async () => {
  const { clock, expiries, asked } = scene();
  const watches = Array.from({ length: 10 }, () => new Mourner());
  for (const [index, watch] of watches.entries()) expiries.follow(watch, [row('a', 500), row(`b${index}`, 500)]);
  expect(clock.timers).toBe(11);
  for (const watch of watches) expiries.follow(watch, []);
  expect(clock.timers).toBe(0);
  await clock.advance(5_000);
  expect(asked).toEqual([]);
});

it('a watch follows the leases of what it shows now, and no others', async () => {
  const { clock, expiries, asked, lefts } = scene();
  const watch = new Mourner();
  lefts.set('b', 10_000);
  expiries.follow(watch, [row('a', 500)]);
  expiries.follow(watch, [row('b', 700)]);
  await clock.advance(1_000);
  expect([asked, watch.lost]).toEqual([[['b']], []]);
});
