import { StoreError } from '@incumbent/core';
import { describe, expect, it } from 'vitest';

import { PARENT, Stage } from './world.ts';

const PASSING = new StoreError('UNREACHABLE', 'notSent', 'the store is away');

describe('a reaper whose parent lives', () => {
  it('revokes nothing, however long it takes', async () => {
    const stage = await Stage.begun();
    await stage.lease(1, 8_000);
    await stage.pass(3_600_000);
    expect(stage.world.log).toEqual([]);
    expect(stage.isOver).toBe(false);
  });

  it('revokes nothing when the pipe is closed by mistake; and ends when all that it knows of is over', async () => {
    const stage = await Stage.begun();
    await stage.lease(1, 8_000);
    stage.office.hangUp();
    await stage.pass(8_900);
    expect(stage.isOver).toBe(false);
    await stage.pass(300);
    expect(stage.isOver).toBe(true);
    expect(stage.world.log).toEqual([]);
  });

  it('revokes nothing when its parent is stopped, and the pipe left to it', async () => {
    const stage = await Stage.begun();
    await stage.lease(1, 8_000);
    stage.world.set(PARENT, { state: 'T' });
    await stage.pass(60_000);
    expect(stage.world.log).toEqual([]);
  });

  it('ends at once when it is told to', async () => {
    const stage = await Stage.begun();
    await stage.lease(1, 8_000);
    await stage.tell({ type: 'end' });
    expect(stage.isOver).toBe(true);
    expect(stage.world.log).toEqual([]);
  });

  it('ends when its parent hangs up without a word', async () => {
    const stage = new Stage();
    stage.office.hangUp();
    await stage.pass(0);
    expect(stage.isOver).toBe(true);
  });
});

describe('a reaper whose parent has died', () => {
  it('revokes every lease that it was told of, and ends', async () => {
    const stage = await Stage.begun();
    await stage.lease(1, 8_000);
    await stage.lease(2, 8_000, 2);
    await stage.die();
    expect(stage.world.log.toSorted()).toEqual(['closed', 'revoked store/lease-1', 'revoked store/lease-2']);
    expect(stage.isOver).toBe(true);
  });

  it('leaves alone what it was told to forget', async () => {
    const stage = await Stage.begun();
    await stage.lease(1, 8_000);
    await stage.lease(2, 8_000);
    await stage.tell({ type: 'forget', lease: 1 });
    await stage.die();
    expect(stage.world.log).toEqual(['revoked store/lease-2', 'closed']);
  });

  it('waits for the last of its threads, and does nothing before', async () => {
    const stage = await Stage.begun();
    await stage.lease(1, 8_000);
    stage.world.set(PARENT, { state: 'Z', threads: 2 });
    stage.office.hangUp();
    await stage.pass(500);
    expect(stage.world.log).toEqual([]);
    stage.world.set(PARENT, { threads: 1 });
    await stage.pass(10);
    expect(stage.world.log).toEqual(['revoked store/lease-1', 'closed']);
  });

  it('sees a death a few ms after the end of the pipe', async () => {
    const stage = await Stage.begun();
    await stage.lease(1, 8_000);
    stage.office.hangUp();
    await stage.pass(20);
    expect(stage.world.log).toEqual([]);
    stage.world.table.delete(PARENT);
    await stage.pass(1);
    expect(stage.world.log).toEqual(['revoked store/lease-1', 'closed']);
  });

  it('learns of it without the pipe, whose other end a child of its parent still holds', async () => {
    const stage = await Stage.begun();
    await stage.lease(1, 8_000);
    stage.world.table.delete(PARENT);
    stage.isOrphan = true;
    await stage.pass(550);
    expect(stage.world.log).toEqual(['revoked store/lease-1', 'closed']);
  });

  it('reads first what it has been told, where it learns of the death before that', async () => {
    const stage = await Stage.begun();
    await stage.lease(1, 8_000);
    stage.world.table.delete(PARENT);
    stage.isOrphan = true;
    await stage.pass(500);
    for (const pid of [200, 300, 400]) {
      await stage.group(pid);
      await stage.pass(40);
    }
    expect(stage.world.log).toEqual([]);
    stage.office.hangUp();
    await stage.pass(10);
    expect(stage.world.log).toEqual(['kill -200', 'kill -300', 'kill -400', 'revoked store/lease-1', 'closed']);
  });

  it('does so when it was started too late to see it alive', async () => {
    const stage = new Stage();
    stage.world.table.delete(PARENT);
    stage.isOrphan = true;
    await stage.tell(
      { type: 'parent', pid: PARENT, started: '1' },
      { type: 'store', store: 1, module: 'm', access: 'store' },
      { type: 'lease', lease: 1, store: 1, owner: 1, ticket: 'lease-1' },
    );
    stage.office.hangUp();
    await stage.pass(0);
    expect(stage.world.log).toEqual(['revoked store/lease-1', 'closed']);
  });

  it('kills its groups first, again until all of each is gone, and revokes only then', async () => {
    const stage = await Stage.begun();
    await stage.lease(1, 8_000);
    await stage.group(200, 3);
    stage.world.set(202, { stuck: true });
    await stage.die();
    await stage.pass(100);
    expect(new Set(stage.world.log)).toEqual(new Set(['kill -200']));
    stage.world.set(202, { stuck: false });
    await stage.pass(10);
    expect(stage.world.log.slice(-3)).toEqual(['kill -200', 'revoked store/lease-1', 'closed']);
  });

  it('lets a lease end in its own time whose group cannot be killed, and ends then', async () => {
    const stage = await Stage.begun();
    await stage.lease(1, 12_000);
    await stage.group(200);
    stage.world.set(200, { stuck: true });
    await stage.die();
    await stage.pass(12_900);
    expect(stage.isOver).toBe(false);
    await stage.pass(200);
    expect(stage.isOver).toBe(true);
    expect(stage.world.log).not.toContain('revoked store/lease-1');
  });

  it('does not let one owner’s leases wait for another’s groups', async () => {
    const stage = await Stage.begun();
    await stage.lease(1, 8_000, 1);
    await stage.lease(2, 8_000, 2);
    await stage.group(200, 1, 2);
    stage.world.set(200, { stuck: true });
    await stage.die();
    await stage.pass(50);
    expect(stage.world.log).toContain('revoked store/lease-1');
    expect(stage.world.log).not.toContain('revoked store/lease-2');
  });

  it('kills a group though there is no lease', async () => {
    const stage = await Stage.begun();
    await stage.group(200, 2);
    await stage.die();
    await stage.pass(10);
    expect(stage.world.log).toEqual(['kill -200', 'closed']);
  });

  it('leaves a group alone that was released', async () => {
    const stage = await Stage.begun();
    await stage.lease(1, 8_000);
    await stage.group(200);
    await stage.tell({ type: 'release', pid: 200 });
    await stage.die();
    expect(stage.world.log).toEqual(['revoked store/lease-1', 'closed']);
  });
});

describe('a reaper whose store is away', () => {
  it('tries again until it is there', async () => {
    const stage = await Stage.begun();
    await stage.lease(1, 8_000);
    stage.world.failures.push(PASSING, PASSING, PASSING);
    await stage.die();
    await stage.pass(1_000);
    expect(stage.world.log).toEqual([...Array<string>(3).fill('failed store/lease-1'), 'revoked store/lease-1', 'closed']);
  });

  it('tries until the lease has ended by itself, no call taking longer than that, and ends', async () => {
    const stage = await Stage.begun();
    await stage.lease(1, 8_000);
    stage.world.failures.push(...Array.from({ length: 1_000 }, () => PASSING));
    await stage.die();
    await stage.pass(8_900);
    expect(stage.isOver).toBe(false);
    await stage.pass(1_100);
    expect(stage.isOver).toBe(true);
    expect(stage.world.log).not.toContain('revoked store/lease-1');
    expect(Math.min(...stage.world.calls.map(({ timeoutMs }) => timeoutMs))).toBeGreaterThan(0);
    expect(stage.world.calls.at(-1)?.timeoutMs).toBeLessThan(2_000);
    expect(stage.world.calls.length).toBeLessThan(30);
  });

  it('does not try again what the store will not have', async () => {
    const stage = await Stage.begun();
    await stage.lease(1, 8_000);
    stage.world.failures.push(new StoreError('PERMISSION_DENIED', 'refused', 'not you'));
    await stage.die();
    expect(stage.world.log).toEqual(['failed store/lease-1', 'closed']);
    expect(stage.isOver).toBe(true);
  });
});

describe('the deadline of a group', () => {
  it('is when a lease of its owner may end: then the group is killed, nothing is revoked, and the parent left alone', async () => {
    const stage = await Stage.begun();
    await stage.lease(1, 8_000);
    await stage.group(200, 2);
    stage.world.set(PARENT, { state: 'T' });
    await stage.pass(7_999);
    expect(stage.world.log).toEqual([]);
    await stage.pass(1);
    expect(stage.world.log).toEqual(['kill -200']);
    await stage.pass(60_000);
    expect(stage.world.log).toEqual(['kill -200']);
    expect(stage.world.table.has(PARENT)).toBe(true);
  });

  it('moves with every renewal', async () => {
    const stage = await Stage.begun();
    await stage.lease(1, 8_000);
    await stage.group(200);
    for (let turn = 0; turn < 20; turn += 1) {
      await stage.pass(3_000);
      await stage.renew(1, 8_000);
    }
    expect(stage.world.log).toEqual([]);
    await stage.pass(8_000);
    expect(stage.world.log).toEqual(['kill -200']);
  });

  it('is kept for a group that comes when it has passed', async () => {
    const stage = await Stage.begun();
    await stage.lease(1, 1_000);
    await stage.pass(2_000);
    await stage.group(200);
    expect(stage.world.log).toEqual(['kill -200']);
  });

  it('is not that of a lease that was over before it came, if another was not: what was lost may still be waiting to be revoked', async () => {
    const stage = await Stage.begun();
    await stage.lease(1, 1_000);
    await stage.pass(2_000);
    await stage.lease(2, 8_000);
    await stage.group(200);
    await stage.pass(7_999);
    expect(stage.world.log).toEqual([]);
    await stage.pass(1);
    expect(stage.world.log).toEqual(['kill -200']);
  });

  it('is that of a lease that stood when it came, though the reaper heard of it late', async () => {
    const stage = await Stage.begun();
    const { clock } = stage.world;
    await stage.lease(1, 1_000);
    await stage.lease(2, 8_000);
    const came = { at: clock.monotonic(), wallAt: clock.wall() };
    await stage.pass(2_000);
    stage.world.start(200, { started: '7' });
    await stage.tell({ type: 'group', pid: 200, started: '7', owner: 1, ...came });
    expect(stage.world.log).toEqual(['kill -200']);
  });

  it('is the earliest of its owner’s leases, and no other’s', async () => {
    const stage = await Stage.begun();
    await stage.lease(1, 8_000, 1);
    await stage.lease(2, 5_000, 1);
    await stage.lease(3, 1_000, 2);
    await stage.group(200, 1, 1);
    await stage.pass(4_999);
    expect(stage.world.log).toEqual([]);
    await stage.pass(1);
    expect(stage.world.log).toEqual(['kill -200']);
  });

  it('comes at once with the end of a lease that it lived by: another may lead', async () => {
    const stage = await Stage.begun();
    await stage.lease(1, 8_000);
    await stage.group(200, 2);
    stage.world.set(201, { stuck: true });
    await stage.tell({ type: 'ended', lease: 1, at: stage.world.clock.monotonic() }, { type: 'forget', lease: 1 });
    expect(new Set(stage.world.log)).toEqual(new Set(['kill -200']));
    stage.world.set(201, { stuck: false });
    await stage.pass(10);
    expect(stage.world.table.has(201)).toBe(false);
    expect(stage.isOver).toBe(false);
  });

  it('is not asked of a group that was released before its lease was forgotten', async () => {
    const stage = await Stage.begun();
    await stage.lease(1, 8_000);
    await stage.group(200);
    await stage.tell({ type: 'release', pid: 200 }, { type: 'forget', lease: 1 });
    await stage.pass(20_000);
    expect(stage.world.log).toEqual([]);
  });

  it('is not that of a lease by which nobody led any more when it came, though that one’s work drained on', async () => {
    const stage = await Stage.begun();
    await stage.lease(1, 8_000);
    await stage.group(200);
    await stage.tell({ type: 'ended', lease: 1, at: stage.world.clock.monotonic() });
    await stage.pass(1);
    await stage.lease(2, 60_000);
    await stage.group(300);
    await stage.tell({ type: 'forget', lease: 1 });
    await stage.pass(50_000);
    expect(stage.world.log).toEqual(['kill -200']);
    await stage.pass(10_000);
    expect(stage.world.log).toEqual(['kill -200', 'kill -300']);
  });

  it('holds for what the group starts while it is killed', async () => {
    const stage = await Stage.begun();
    await stage.lease(1, 1_000);
    await stage.group(200, 2);
    stage.world.set(201, { stuck: true });
    await stage.pass(1_050);
    const kills = stage.world.log.length;
    expect(kills).toBeGreaterThan(5);
    stage.world.set(201, { stuck: false });
    await stage.pass(1_000);
    expect(stage.world.table.has(201)).toBe(false);
  });

  it('passes by the wall clock, too: the machine was suspended while its parent was stopped', async () => {
    const stage = await Stage.begun();
    await stage.lease(1, 8_000);
    await stage.group(200);
    stage.world.clock.advanceWall(8_000);
    await stage.pass(500);
    expect(stage.world.log).toEqual(['kill -200']);
  });

  it('is not asked for when the parent cannot be heard any more: it may have renewed', async () => {
    const stage = await Stage.begun();
    await stage.lease(1, 1_000);
    await stage.group(200);
    stage.office.hangUp();
    await stage.pass(5_000);
    expect(stage.world.log).toEqual([]);
    expect(stage.isOver).toBe(false);
  });
});
