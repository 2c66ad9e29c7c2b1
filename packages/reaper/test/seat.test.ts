import { describe, expect, it } from 'vitest';

import { ManualClock, openMemory } from '@incumbent/memory';
import type { Store } from '@incumbent/core';

import { reaper } from '../src/index.ts';
import { Seat } from '../src/seat.ts';
import type { Told } from '../src/messages.ts';
import { machine } from '../src/system.ts';

async function scene(): Promise<{ seat: Seat; told: Told[]; clock: ManualClock; closed: () => number }> {
  const clock = new ManualClock({ monotonicMs: 5_000 });
  const told: Told[] = [];
  let removals = 0;
  const helper = {
    tell: (message: Told) => void told.push(message),
    add: () => {},
    dropStore: () => {},
    remove: async () => void (removals += 1),
  };
  const store = await openMemory();
  const revocation = { module: 'file:///m', access: '{}', ticketOf: (lease: string) => (lease === 'gone' ? undefined : `ticket ${lease}`) };
  return { seat: new Seat(helper, 7, { store, clock, emit: () => {} }, revocation), told, clock, closed: () => removals };
}

describe('a member’s place at the reaper', () => {
  it('tells of the store once, and of every lease, before any of its times', async () => {
    const { seat, told } = await scene();
    const one = seat.watch('one');
    one.renewed({ safeUntil: 6_000, overBy: 7_000 });
    seat.watch('two').forget();
    expect(told.map(({ type }) => type)).toEqual(['store', 'lease', 'renewed', 'lease', 'forget']);
    expect(told[1]).toMatchObject({ owner: 7, ticket: 'ticket one' });
    expect(told[3]).toMatchObject({ owner: 7, ticket: 'ticket two' });
  });

  it('tells times on the machine’s clocks, never later than they are on the member’s', async () => {
    const { seat, told } = await scene();
    const before = { now: machine.clock.monotonic(), wall: machine.clock.wall() };
    seat.watch('one').renewed({ safeUntil: 5_800, overBy: 6_500 });
    const after = { now: machine.clock.monotonic(), wall: machine.clock.wall() };
    const renewed = told.find((message) => message.type === 'renewed') ?? expect.unreachable('nothing was told');
    expect(renewed.safeUntil).toBeGreaterThanOrEqual(before.now + 800);
    expect(renewed.safeUntil).toBeLessThanOrEqual(after.now + 800);
    expect(renewed.wallSafeUntil).toBeGreaterThanOrEqual(before.wall + 800);
    expect(renewed.wallSafeUntil).toBeLessThanOrEqual(after.wall + 800);
    expect(renewed.overBy - renewed.safeUntil).toBeCloseTo(700);
  });

  it('reads the machine’s clocks before the member’s: a pause between the two makes the times earlier', async () => {
    const { seat, told, clock } = await scene();
    const watched = seat.watch('one');
    clock.monotonic = () => {
      const until = machine.clock.monotonic() + 30;
      while (machine.clock.monotonic() < until);
      return 5_030;
    };
    const before = machine.clock.monotonic();
    watched.renewed({ safeUntil: 5_800, overBy: 6_500 });
    const renewed = told.find((message) => message.type === 'renewed') ?? expect.unreachable('nothing was told');
    expect(renewed.safeUntil).toBeLessThan(before + 800);
  });

  it('tells nothing of a lease that has ended already', async () => {
    const { seat, told } = await scene();
    const watched = seat.watch('gone');
    watched.renewed({ safeUntil: 1, overBy: 2 });
    watched.forget();
    expect(told).toEqual([]);
  });

  it('leaves with its member, and what that could not see to is nobody’s any more', async () => {
    const { seat, told } = await scene();
    seat.watch('one').forget();
    const two = seat.watch('two');
    await seat.close();
    two.forget();
    expect(told.map(({ type }) => type)).toEqual(['store', 'lease', 'forget', 'lease', 'forget']);
  });

  it('leaves with its member', async () => {
    const { seat, closed } = await scene();
    await seat.close();
    expect(closed()).toBe(1);
  });
});

describe('a reaper', () => {
  it('is refused where it could never help: no other process reaches a store in memory', async () => {
    const store = await openMemory();
    const join = (): unknown => reaper().join({ store, clock: new ManualClock(), emit: () => {} });
    expect(join).toThrow(TypeError);
    expect(join).toThrow(/reaper is an object: it must be left out: leases of this memory store cannot be ended by another process/);
  });

  it('joins without a process', async () => {
    const store: Store = Object.assign(await openMemory(), { revocation: { module: 'm', access: '', ticketOf: () => undefined } });
    const seat = reaper().join({ store, clock: new ManualClock(), emit: () => {} });
    await seat.close();
  });

  it.each([0, 1, -5, 1.5, Number.NaN, process.pid])('does not bind %s, which is no group of others', (pgid) => {
    expect(() => reaper().bindGroup(pgid)).toThrow(/pgid is .*: it must be the id of a process group/);
  });
});
