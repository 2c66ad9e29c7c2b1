import { describe, expect, it, vi } from 'vitest';

import { PARENT, LoopHarness } from './fake-machine.ts';

describe('the deadline of a group', () => {
  it('is the time at which a lease of its owner may expire: the group is killed, nothing is revoked, the parent is left alone', async () => {
    const harness = await LoopHarness.withLease();
    await harness.group(200, 2);
    harness.machine.set(PARENT, { state: 'T' });
    await harness.advance(7_999);
    expect(harness.machine.log).toEqual([]);
    await harness.advance(1);
    expect(harness.machine.log).toEqual(['kill -200']);
    await harness.advance(60_000);
    expect(harness.machine.log).toEqual(['kill -200']);
    expect(harness.machine.table.has(PARENT)).toBe(true);
  });

  it('moves with every renewal', async () => {
    const harness = await LoopHarness.withLease();
    await harness.group(200);
    for (let turn = 0; turn < 20; turn += 1) {
      await harness.advance(3_000);
      await harness.renew(1, 8_000);
    }
    expect(harness.machine.log).toEqual([]);
    await harness.advance(8_000);
    expect(harness.machine.log).toEqual(['kill -200']);
  });

  it('applies at once to a group that is bound after it', async () => {
    const harness = await LoopHarness.start();
    await harness.lease(1, 1_000);
    await harness.advance(2_000);
    await harness.group(200);
    expect(harness.machine.log).toEqual(['kill -200']);
  });

  it('ignores a lease that had expired before the group was bound, if another lease was valid', async () => {
    const harness = await LoopHarness.start();
    await harness.lease(1, 1_000);
    await harness.advance(2_000);
    await harness.lease(2, 8_000);
    await harness.group(200);
    await harness.advance(7_999);
    expect(harness.machine.log).toEqual([]);
    await harness.advance(1);
    expect(harness.machine.log).toEqual(['kill -200']);
  });

  it('counts a lease that was valid when the group was bound, even if the message arrives after its expiry', async () => {
    const harness = await LoopHarness.start();
    const { clock } = harness.machine;
    await harness.lease(1, 1_000);
    await harness.lease(2, 8_000);
    const boundAt = { at: clock.monotonic(), wallAt: clock.wall() };
    await harness.advance(2_000);
    harness.machine.start(200, { started: '7' });
    await harness.send({ type: 'group', pid: 200, started: '7', owner: 1, ...boundAt });
    expect(harness.machine.log).toEqual(['kill -200']);
  });

  it('is the earliest expiry among the leases of its owner, and no other owner’s', async () => {
    const harness = await LoopHarness.start();
    await harness.lease(1, 8_000, 1);
    await harness.lease(2, 5_000, 1);
    await harness.lease(3, 1_000, 2);
    await harness.group(200, 1, 1);
    await harness.advance(4_999);
    expect(harness.machine.log).toEqual([]);
    await harness.advance(1);
    expect(harness.machine.log).toEqual(['kill -200']);
  });

  it('passes at once when a lease that the group depends on is forgotten, as another member may lead', async () => {
    const harness = await LoopHarness.withLease();
    await harness.group(200, 2);
    harness.machine.set(201, { stuck: true });
    await harness.send({ type: 'ended', lease: 1, at: harness.machine.clock.monotonic() }, { type: 'forget', lease: 1 });
    expect(new Set(harness.machine.log)).toEqual(new Set(['kill -200']));
    harness.machine.set(201, { stuck: false });
    await harness.advance(10);
    expect(harness.machine.table.has(201)).toBe(false);
    expect(harness.hasEnded).toBe(false);
  });

  it('does not apply to a group that was released before its lease was forgotten', async () => {
    const harness = await LoopHarness.withLease();
    await harness.group(200);
    await harness.send({ type: 'release', pid: 200 }, { type: 'forget', lease: 1 });
    await harness.advance(20_000);
    expect(harness.machine.log).toEqual([]);
  });

  it('ignores a lease that had ended before the group was bound, even while its work drains', async () => {
    const harness = await LoopHarness.withLease();
    await harness.group(200);
    await harness.send({ type: 'ended', lease: 1, at: harness.machine.clock.monotonic() });
    await harness.advance(1);
    await harness.lease(2, 60_000);
    await harness.group(300);
    await harness.send({ type: 'forget', lease: 1 });
    await harness.advance(50_000);
    expect(harness.machine.log).toEqual(['kill -200']);
    await harness.advance(10_000);
    expect(harness.machine.log).toEqual(['kill -200', 'kill -300']);
  });

  it('does not pass with the end of a lease that was granted after the group was bound', async () => {
    const harness = await LoopHarness.start();
    await harness.lease(1, 12_000);
    await harness.group(200);
    await harness.advance(1_000);
    await harness.lease(2, 12_000);
    await harness.send({ type: 'ended', lease: 2, at: harness.machine.clock.monotonic() }, { type: 'forget', lease: 2 });
    expect(harness.machine.log).toEqual([]);
    await harness.advance(11_000);
    expect(harness.machine.log).toEqual(['kill -200']);
  });

  it('passes with any lease of its owner, if the parent does not say when the lease was granted', async () => {
    const harness = await LoopHarness.withLease();
    await harness.group(200);
    await harness.send({ type: 'lease', lease: 2, store: 1, owner: 1, ticket: 'lease-2' });
    await harness.renew(2, 12_000);
    await harness.send({ type: 'forget', lease: 2 });
    expect(harness.machine.log).toEqual(['kill -200']);
  });

  it('kills the group again until no process of it is left', async () => {
    const harness = await LoopHarness.start();
    await harness.lease(1, 1_000);
    await harness.group(200, 2);
    harness.machine.set(201, { stuck: true });
    await harness.advance(1_050);
    const kills = harness.machine.log.length;
    expect(kills).toBeGreaterThan(5);
    harness.machine.set(201, { stuck: false });
    await harness.advance(1_000);
    expect(harness.machine.table.has(201)).toBe(false);
  });

  it('is enforced less and less often on a group that cannot be killed', async () => {
    const harness = await LoopHarness.start();
    await harness.lease(1, 1_000);
    await harness.group(200);
    harness.machine.isAllowed = false;
    await harness.advance(1_000);
    const scans = vi.spyOn(harness.machine, 'processes');
    await harness.advance(60_000);
    expect(scans.mock.calls.length).toBeGreaterThan(100);
    expect(scans.mock.calls.length).toBeLessThan(500);
  });

  it('is enforced often again on a group that is overdue later', async () => {
    const harness = await LoopHarness.start();
    await harness.lease(1, 1_000);
    await harness.lease(2, 10_100, 2);
    await harness.group(200);
    await harness.group(300, 1, 2);
    harness.machine.set(200, { stuck: true });
    harness.machine.set(300, { stuck: true });
    await harness.advance(10_100);
    const kills = harness.machine.log.length;
    await harness.advance(50);
    expect(harness.machine.log.slice(kills).filter((line) => line === 'kill -300').length).toBeGreaterThan(4);
  });

  it('is not checked all the time after the group is gone, while the parent has not released it', async () => {
    const harness = await LoopHarness.withLease();
    await harness.lease(2, 1_000, 2);
    await harness.group(200, 1, 2);
    await harness.group(300);
    await harness.advance(1_050);
    expect(harness.machine.log).toEqual(['kill -200']);
    const looks = vi.spyOn(harness.machine, 'signal');
    await harness.advance(1_000);
    expect(looks.mock.calls.length).toBeLessThan(20);
    await harness.advance(6_000);
    expect(harness.machine.log).toEqual(['kill -200', 'kill -300']);
  });

  it('also passes on the wall clock, as after a suspend of the machine', async () => {
    const harness = await LoopHarness.withLease();
    await harness.group(200);
    harness.machine.clock.advanceWall(8_000);
    await harness.advance(500);
    expect(harness.machine.log).toEqual(['kill -200']);
  });

  it('is enforced after the pipe was closed: a parent that could still renew would have replaced this reaper', async () => {
    const harness = await LoopHarness.withLease();
    await harness.group(200, 2);
    harness.loop.pipeClosed();
    await harness.advance(7_999);
    expect(harness.machine.log).toEqual([]);
    await harness.advance(1);
    expect(harness.machine.log).toEqual(['kill -200']);
    expect(harness.hasEnded).toBe(false);
    await harness.advance(1_500);
    expect(harness.hasEnded).toBe(true);
    expect(harness.machine.log).toEqual(['kill -200']);
    expect(harness.machine.table.has(PARENT)).toBe(true);
  });

  it('is enforced while the pipe is closed until no process of the group is left', async () => {
    const harness = await LoopHarness.withLease();
    await harness.group(200, 2);
    harness.machine.set(201, { stuck: true });
    harness.loop.pipeClosed();
    await harness.advance(60_000);
    expect(harness.hasEnded).toBe(false);
    harness.machine.set(201, { stuck: false });
    await harness.advance(1_000);
    expect(harness.machine.table.has(201)).toBe(false);
    expect(harness.hasEnded).toBe(true);
  });

  it('lets a reaper whose pipe is closed end once its groups are gone by themselves', async () => {
    const harness = await LoopHarness.withLease();
    await harness.group(200);
    harness.loop.pipeClosed();
    harness.machine.table.delete(200);
    await harness.advance(9_500);
    expect(harness.hasEnded).toBe(true);
    expect(harness.machine.log).toEqual([]);
  });

  it('does not exist without a lease: the group stays bound to its parent after the pipe was closed', async () => {
    const harness = await LoopHarness.start();
    await harness.group(200);
    harness.loop.pipeClosed();
    await harness.advance(60_000);
    expect([harness.machine.log, harness.hasEnded]).toEqual([[], false]);
    harness.machine.table.delete(PARENT);
    await harness.advance(1_000);
    expect(harness.machine.log).toEqual(['kill -200', 'closed']);
    expect(harness.hasEnded).toBe(true);
  });

  it('never ends a group of another program that got the id of a group that is gone', async () => {
    const harness = await LoopHarness.withLease();
    harness.machine.isLinux = false;
    await harness.group(200);
    await harness.advance(8_050);
    expect(harness.machine.log).toEqual(['kill -200']);
    harness.machine.start(200, { started: '9' });
    await harness.advance(60_000);
    expect(harness.machine.log).toEqual(['kill -200']);
  });
});
