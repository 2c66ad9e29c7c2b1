import { StoreError } from '@incumbent/core';
import { describe, expect, it, vi } from 'vitest';

import { PARENT, LoopHarness } from './fake-machine.ts';

/** The log of a reaper that has revoked the one lease, and has ended. */
const REVOKED = ['revoked store/lease-1', 'closed'];
const UNREACHABLE = new StoreError('UNREACHABLE', 'notSent', 'the store is away');

describe('a reaper whose parent lives', () => {
  it('revokes nothing, however long the parent lives', async () => {
    const harness = await LoopHarness.withLease();
    await harness.advance(3_600_000);
    expect(harness.machine.log).toEqual([]);
    expect(harness.hasEnded).toBe(false);
  });

  it('revokes nothing when the pipe is closed by mistake, and ends when every known lease has expired', async () => {
    const harness = await LoopHarness.withLease();
    harness.loop.pipeClosed();
    await harness.advance(8_900);
    expect(harness.hasEnded).toBe(false);
    await harness.advance(600);
    expect(harness.hasEnded).toBe(true);
    expect(harness.machine.log).toEqual([]);
  });

  it('revokes nothing when its parent is stopped and the pipe stays open', async () => {
    const harness = await LoopHarness.withLease();
    harness.machine.set(PARENT, { state: 'T' });
    await harness.advance(60_000);
    expect(harness.machine.log).toEqual([]);
  });

  it('ends at once on the message "end"', async () => {
    const harness = await LoopHarness.withLease();
    await harness.send({ type: 'end' });
    expect(harness.hasEnded).toBe(true);
    expect(harness.machine.log).toEqual([]);
  });

  it('keeps nothing of a store that no member uses any more', async () => {
    const harness = await LoopHarness.withLease();
    await harness.send({ type: 'forget', lease: 1 }, { type: 'dropStore', store: 1 });
    expect(harness.machine.log).toEqual(['closed']);
    await harness.killParent();
    await harness.advance(5_000);
    expect([harness.machine.log, harness.hasEnded]).toEqual([['closed'], true]);
  });

  it('ends when the pipe is closed before any message', async () => {
    const harness = new LoopHarness();
    harness.loop.pipeClosed();
    await harness.advance(0);
    expect(harness.hasEnded).toBe(true);
  });
});

describe('a reaper whose parent has died', () => {
  it('revokes every known lease, and ends', async () => {
    const harness = await LoopHarness.withLease();
    await harness.lease(2, 8_000, 2);
    await harness.killParent();
    expect(harness.machine.log.toSorted()).toEqual(['closed', 'revoked store/lease-1', 'revoked store/lease-2']);
    expect(harness.hasEnded).toBe(true);
  });

  it('does not revoke a forgotten lease', async () => {
    const harness = await LoopHarness.withLease();
    await harness.lease(2, 8_000);
    await harness.send({ type: 'forget', lease: 1 });
    await harness.killParent();
    expect(harness.machine.log).toEqual(['revoked store/lease-2', 'closed']);
  });

  it('does nothing before the last thread of the parent has ended', async () => {
    const harness = await LoopHarness.withLease();
    harness.machine.set(PARENT, { state: 'Z', threads: 2 });
    harness.loop.pipeClosed();
    await harness.advance(500);
    expect(harness.machine.log).toEqual([]);
    harness.machine.set(PARENT, { threads: 1 });
    await harness.advance(10);
    expect(harness.machine.log).toEqual(REVOKED);
  });

  it('notices a death a few ms after the pipe was closed', async () => {
    const harness = await LoopHarness.withLease();
    harness.loop.pipeClosed();
    await harness.advance(20);
    expect(harness.machine.log).toEqual([]);
    harness.machine.table.delete(PARENT);
    await harness.advance(1);
    expect(harness.machine.log).toEqual(REVOKED);
  });

  it('revokes a lease that should have expired, as the renewer of a blocked parent may have renewed it', async () => {
    const harness = await LoopHarness.withLease();
    await harness.advance(12_000);
    await harness.killParent();
    await harness.advance(20_000);
    expect(harness.machine.log).toEqual(REVOKED);
    expect(harness.hasEnded).toBe(true);
  });

  it('revokes such a lease also if the parent dies some time after its pipe was closed', async () => {
    const harness = await LoopHarness.withLease();
    await harness.advance(12_000);
    harness.loop.pipeClosed();
    await harness.advance(500);
    expect(harness.machine.log).toEqual([]);
    harness.machine.table.delete(PARENT);
    await harness.advance(10);
    expect(harness.machine.log).toEqual(REVOKED);
  });

  it('notices the death although a child of the parent keeps the pipe open', async () => {
    const harness = await LoopHarness.withLease();
    harness.killParentKeepingPipe();
    await harness.advance(550);
    expect(harness.machine.log).toEqual(REVOKED);
  });

  it('reads the rest of the pipe before it acts on a death', async () => {
    const harness = await LoopHarness.withLease();
    harness.killParentKeepingPipe();
    await harness.advance(500);
    for (const pid of [200, 300, 400]) {
      await harness.group(pid);
      await harness.advance(40);
    }
    expect(harness.machine.log).toEqual([]);
    harness.loop.pipeClosed();
    await harness.advance(10);
    expect(harness.machine.log).toEqual(['kill -200', 'kill -300', 'kill -400', 'revoked store/lease-1', 'closed']);
  });

  it('revokes leases even if the parent died before the reaper started', async () => {
    const harness = new LoopHarness();
    harness.killParentKeepingPipe();
    await harness.send(
      { type: 'parent', pid: PARENT, started: '1' },
      { type: 'store', store: 1, module: 'm', access: 'store' },
      { type: 'lease', lease: 1, store: 1, owner: 1, ticket: 'lease-1' },
    );
    harness.loop.pipeClosed();
    await harness.advance(0);
    expect(harness.machine.log).toEqual(REVOKED);
  });

  it('kills each group until it is gone, and revokes only then', async () => {
    const harness = await LoopHarness.withLease();
    await harness.group(200, 3);
    harness.machine.set(202, { stuck: true });
    await harness.killParent();
    await harness.advance(100);
    expect(new Set(harness.machine.log)).toEqual(new Set(['kill -200']));
    harness.machine.set(202, { stuck: false });
    await harness.advance(200);
    expect(harness.machine.log.slice(-3)).toEqual(['kill -200', 'revoked store/lease-1', 'closed']);
  });

  it('lets a lease expire if its group cannot be killed, and ends then', async () => {
    const harness = await LoopHarness.start();
    await harness.lease(1, 12_000);
    await harness.group(200);
    harness.machine.set(200, { stuck: true });
    await harness.killParent();
    await harness.advance(12_900);
    expect(harness.hasEnded).toBe(false);
    await harness.advance(200);
    expect(harness.hasEnded).toBe(true);
    expect(harness.machine.log).not.toContain('revoked store/lease-1');
  });

  it('tries less and less often to kill a group that cannot be killed', async () => {
    const harness = await LoopHarness.start();
    await harness.lease(1, 60_000);
    await harness.group(200);
    harness.machine.isAllowed = false;
    const scans = vi.spyOn(harness.machine, 'processes');
    await harness.killParent();
    await harness.advance(60_000);
    expect(scans.mock.calls.length).toBeLessThan(500);
    await harness.advance(1_100);
    expect(harness.hasEnded).toBe(true);
  });

  it('does not delay the leases of one owner for the groups of another', async () => {
    const harness = await LoopHarness.start();
    await harness.lease(1, 8_000, 1);
    await harness.lease(2, 8_000, 2);
    await harness.group(200, 1, 2);
    harness.machine.set(200, { stuck: true });
    await harness.killParent();
    await harness.advance(50);
    expect(harness.machine.log).toContain('revoked store/lease-1');
    expect(harness.machine.log).not.toContain('revoked store/lease-2');
  });

  it('kills a group even if there is no lease', async () => {
    const harness = await LoopHarness.start();
    await harness.group(200, 2);
    await harness.killParent();
    await harness.advance(10);
    expect(harness.machine.log).toEqual(['kill -200', 'closed']);
  });

  it('does not kill a released group', async () => {
    const harness = await LoopHarness.withLease();
    await harness.group(200);
    await harness.send({ type: 'release', pid: 200 });
    await harness.killParent();
    expect(harness.machine.log).toEqual(REVOKED);
  });
});

describe('a reaper whose store is unreachable', () => {
  it('retries until the store answers', async () => {
    const harness = await LoopHarness.withLease();
    harness.machine.failures.push(UNREACHABLE, UNREACHABLE, UNREACHABLE);
    await harness.killParent();
    await harness.advance(1_000);
    expect(harness.machine.log).toEqual([...Array<string>(3).fill('failed store/lease-1'), 'revoked store/lease-1', 'closed']);
  });

  it('retries until the lease has expired, limits every call to that time, and ends', async () => {
    const harness = await LoopHarness.withLease();
    harness.machine.failures.push(...Array.from({ length: 1_000 }, () => UNREACHABLE));
    await harness.killParent();
    await harness.advance(8_900);
    expect(harness.hasEnded).toBe(false);
    await harness.advance(1_100);
    expect(harness.hasEnded).toBe(true);
    expect(harness.machine.log).not.toContain('revoked store/lease-1');
    expect(Math.min(...harness.machine.calls.map(({ timeoutMs }) => timeoutMs))).toBeGreaterThan(0);
    expect(harness.machine.calls.at(-1)?.timeoutMs).toBeLessThan(2_000);
    expect(harness.machine.calls.length).toBeLessThan(30);
  });

  it('does not retry a call that the store refuses for good', async () => {
    const harness = await LoopHarness.withLease();
    harness.machine.failures.push(new StoreError('PERMISSION_DENIED', 'refused', 'not you'));
    await harness.killParent();
    expect(harness.machine.log).toEqual(['failed store/lease-1', 'closed']);
    expect(harness.hasEnded).toBe(true);
  });
});
