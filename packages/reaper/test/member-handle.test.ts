import { describe, expect, it } from 'vitest';

import { ManualClock, openMemory } from '@incumbent/memory';
import type { Store } from '@incumbent/core';

import { reaper } from '../src/index.ts';
import { MemberHandle } from '../src/member/member-handle.ts';
import type { ParentMessage } from '../src/messages.ts';
import { machine } from '../src/system.ts';

async function startScenario(): Promise<{ handle: MemberHandle; sent: ParentMessage[]; clock: ManualClock; closed: () => number }> {
  const clock = new ManualClock({ monotonicMs: 5_000 });
  const sent: ParentMessage[] = [];
  let removals = 0;
  const connection = {
    send: (message: ParentMessage) => void sent.push(message),
    addListener: () => {},
    removeListener: async () => void (removals += 1),
  };
  const store = await openMemory();
  const revocation = { module: 'file:///m', access: '{}', ticketOf: (lease: string) => (lease === 'gone' ? undefined : `ticket ${lease}`) };
  return { handle: new MemberHandle(connection, 7, { store, clock, emit: () => {} }, revocation), sent, clock, closed: () => removals };
}

describe('the handle of a member at the reaper', () => {
  it('sends the store once, and each lease before its times', async () => {
    const { handle, sent } = await startScenario();
    const one = handle.watch('one');
    one.renewed({ safeUntil: 6_000, overBy: 7_000 });
    handle.watch('two').forget();
    expect(sent.map(({ type }) => type)).toEqual(['store', 'lease', 'renewed', 'lease', 'forget']);
    expect(sent[1]).toMatchObject({ owner: 7, ticket: 'ticket one' });
    expect(sent[3]).toMatchObject({ owner: 7, ticket: 'ticket two' });
  });

  it('converts times to the machine’s clocks, never to a later time', async () => {
    const { handle, sent } = await startScenario();
    const before = { now: machine.clock.monotonic(), wall: machine.clock.wall() };
    handle.watch('one').renewed({ safeUntil: 5_800, overBy: 6_500 });
    const after = { now: machine.clock.monotonic(), wall: machine.clock.wall() };
    const renewed = sent.find((message) => message.type === 'renewed') ?? expect.unreachable('no renewal was sent');
    expect(renewed.safeUntil).toBeGreaterThanOrEqual(before.now + 800);
    expect(renewed.safeUntil).toBeLessThanOrEqual(after.now + 800);
    expect(renewed.wallSafeUntil).toBeGreaterThanOrEqual(before.wall + 800);
    expect(renewed.wallSafeUntil).toBeLessThanOrEqual(after.wall + 800);
    expect(renewed.overBy - renewed.safeUntil).toBeCloseTo(700);
  });

  it('reads the machine’s clocks before the member’s: a pause between the two makes the times earlier', async () => {
    const { handle, sent, clock } = await startScenario();
    const watched = handle.watch('one');
    clock.monotonic = () => {
      const until = machine.clock.monotonic() + 30;
      while (machine.clock.monotonic() < until);
      return 5_030;
    };
    const before = machine.clock.monotonic();
    watched.renewed({ safeUntil: 5_800, overBy: 6_500 });
    const renewed = sent.find((message) => message.type === 'renewed') ?? expect.unreachable('no renewal was sent');
    expect(renewed.safeUntil).toBeLessThan(before + 800);
  });

  it('sends when the member got each lease, by the machine’s clock', async () => {
    const { handle, sent } = await startScenario();
    const before = machine.clock.monotonic();
    handle.watch('one');
    const lease = sent.find((message) => message.type === 'lease') ?? expect.unreachable('no lease was sent');
    expect(lease.from).toBeGreaterThanOrEqual(before);
    expect(lease.from).toBeLessThanOrEqual(machine.clock.monotonic());
  });

  it('sends nothing about a lease that has ended already', async () => {
    const { handle, sent } = await startScenario();
    const watched = handle.watch('gone');
    watched.renewed({ safeUntil: 1, overBy: 2 });
    watched.forget();
    expect(sent).toEqual([]);
  });

  it('forgets the leases that its member could not revoke before it closed', async () => {
    const { handle, sent } = await startScenario();
    handle.watch('one').forget();
    const two = handle.watch('two');
    await handle.close();
    two.forget();
    expect(sent.map(({ type }) => type)).toEqual(['store', 'lease', 'forget', 'lease', 'forget', 'dropStore']);
  });

  it('removes its listener when its member closes', async () => {
    const { handle, closed } = await startScenario();
    await handle.close();
    expect(closed()).toBe(1);
  });
});

describe('a reaper', () => {
  it('rejects a store in memory, which no other process can reach', async () => {
    const store = await openMemory();
    const join = (): unknown => reaper().join({ store, clock: new ManualClock(), emit: () => {} });
    expect(join).toThrow(TypeError);
    expect(join).toThrow(
      /reaper is an object: it must be left out: leases of this memory store cannot be ended by another process, because/,
    );
  });

  it('joins a member without starting a process', async () => {
    const store: Store = Object.assign(await openMemory(), { revocation: { module: 'm', access: '', ticketOf: () => undefined } });
    const handle = reaper().join({ store, clock: new ManualClock(), emit: () => {} });
    await handle.close();
  });

  // Linux gives no process the last id.
  it.each([0, 1, -5, 1.5, Number.NaN, 2 ** 22, process.pid])('does not bind %s, which is no process group of other processes', (pgid) => {
    expect(() => reaper().bindGroup(pgid)).toThrow(/pgid is .*: it must be the id of a process group/);
  });
});
