/** The methods of a leadership besides `isValid()`. */

import { Fence } from '@incumbent/core';
import { describe, expect, it } from 'vitest';
import type { PeerLeadership } from '../src/index.ts';
import { Group, logger, TestStorage } from './support.ts';

/** `a` leads. The other members vote, or campaign too. */
async function led(group: Group, othersStand = false): Promise<PeerLeadership<'quorum'>> {
  const [a, ...others] = group.ids.map((id) => group.member(id));
  await Promise.all(others.map((other) => other.start()));
  const leadership = await group.clock.run(a!.campaign());
  if (othersStand) for (const other of others) other.campaign().catch(() => {});
  await group.clock.advance(1_000);
  return leadership;
}

describe('a leadership', () => {
  it('is suspect when answers are overdue, and valid again when they come', async () => {
    await using group = new Group();
    const leadership = await led(group);
    expect(leadership.state).toBe('valid');
    group.network.isolate('a');
    await group.clock.advance(500);
    expect([leadership.state, leadership.isValid()]).toEqual(['suspect', true]);
    group.network.heal();
    await group.clock.advance(250);
    expect(leadership.state).toBe('valid');
    group.network.isolate('a');
    await group.clock.advance(1_000);
    expect([leadership.state, leadership.isValid()]).toEqual(['ended', false]);
    expect(await leadership.ended).toMatchObject({ reason: 'deadline', lost: true, loopBlockedMs: 0 });
  });

  it('reports neither its start nor its end if the vote was written too late for it', async () => {
    await using group = new Group(['a']);
    const storage = new TestStorage();
    const log = logger();
    const member = group.member('a', { storage, logger: log });
    const leading = member.lead(({ ended }) => ended);
    leading.catch(() => {});
    const reported = (): readonly string[] =>
      log.lines.map(({ message }) => message).filter((message) => ['elected', 'leadership ended', 'leadership released'].includes(message));
    storage.slow = { clock: group.clock, writeMs: 900 };
    await group.clock.advance(60_000);
    expect(member.highestTerm).toBeGreaterThan(10n);
    expect(reported()).toEqual([]);
    storage.slow = undefined;
    await group.clock.advance(5_000);
    expect(reported()).toEqual(['elected']);
    expect(member.leadership?.isValid()).toBe(true);
  });

  it('stays as it is after a handover to nobody that could lead, and the error names the reason', async () => {
    await using group = new Group();
    const leadership = await led(group);
    const refuses = async (to: string | undefined, message: string): Promise<void> =>
      expect(leadership.handover(to)).rejects.toMatchObject({ code: 'NO_SUCH_CANDIDATE', message });
    await refuses(undefined, 'cannot hand over: no other member campaigns and has answered the latest heartbeats');
    await refuses('b', 'cannot hand over to "b": it does not campaign');
    await refuses('a', 'cannot hand over to "a": it is the leader itself');
    await refuses('nobody', 'cannot hand over to "nobody": it is not one of the members');
    group.network.isolate('b');
    await group.clock.advance(500);
    await refuses('b', 'cannot hand over to "b": it has not answered the latest heartbeats');
    expect(leadership.isValid()).toBe(true);
  });

  it('ends as termBehind when a fence has seen a newer term, and the next leadership has a term newer than that', async () => {
    await using group = new Group();
    const leadership = await led(group, true);
    const fence = new Fence({ highest: 40n });
    expect(() => fence.admit(leadership.term)).toThrow(expect.objectContaining({ code: 'STALE_TERM' }));
    leadership.reportTerm(fence.highest);
    expect(leadership.isValid()).toBe(false);
    expect(await leadership.ended).toMatchObject({ reason: 'termBehind', lost: true, seenTerm: 40n });
    await group.clock.advance(10_000);
    const views = new Set(group.members.map(({ current }) => (current.state === 'leader' ? current.term : undefined)));
    expect(views.size).toBe(1);
    const [term] = views;
    expect(term).toBeGreaterThan(40n);
    fence.admit(term!);
  });

  it('that ends as termBehind is followed within a heartbeat and a few messages, and not after an election timeout', async () => {
    await using group = new Group();
    const leadership = await led(group, true);
    const stopped = Promise.withResolvers<void>();
    leadership.waitUntil(stopped.promise);
    leadership.reportTerm(40n);
    await group.clock.advance(50);
    expect(group.members.map(({ highestTerm }) => highestTerm)).toEqual([40n, 1n, 1n]);
    stopped.resolve();
    await group.clock.run(leadership.released);
    // Heartbeats are 200 ms apart, and the shortest election timeout is 1 s.
    await group.clock.advance(250);
    expect(group.members.map((member) => member.leadership?.term).filter(Boolean)).toEqual([41n]);
  });

  it('has work that outlives it: its member does not campaign again before that has settled', async () => {
    await using group = new Group(['a']);
    const stuck = Promise.withResolvers<void>();
    const terms: (bigint | undefined)[] = [];
    const leading = group.member('a').lead(async (leadership) => {
      terms.push(leadership.term);
      if (terms.length > 1) return;
      leadership.waitUntil(stuck.promise);
      leadership.reportTerm(40n);
    });
    await group.clock.advance(20_000);
    expect(terms).toEqual([1n]);
    stuck.resolve();
    await group.clock.run(leading);
    expect(terms).toEqual([1n, 41n]);
  });

  it('remembers the term that a fence has seen across a restart', async () => {
    await using group = new Group(['a']);
    const leadership = await led(group);
    leadership.reportTerm(40n);
    await group.clock.run(leadership.released);
    const again = await group.clock.run(group.member('a').campaign());
    expect(again.term).toBe(41n);
  });

  it('ignores a reported term that is not newer, and refuses an invalid one', async () => {
    await using group = new Group(['a']);
    const leadership = await led(group);
    leadership.reportTerm(leadership.term);
    expect(leadership.isValid()).toBe(true);
    for (const seen of [0n, 2n ** 61n + 1n, 7, undefined])
      expect(() => leadership.reportTerm(seen as bigint)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
    expect(leadership.isValid()).toBe(true);
  });

  it('that is over takes a reported term, and keeps the reason of its end', async () => {
    await using group = new Group(['a']);
    const leadership = await led(group);
    await group.clock.run(leadership.resign());
    leadership.reportTerm(40n);
    expect(await leadership.ended).toMatchObject({ reason: 'resigned' });
    const again = await group.clock.run(group.members[0]!.campaign());
    expect(again.term).toBe(41n);
    leadership.reportTerm(40n);
    expect(again.isValid()).toBe(true);
  });
});

describe('a member that shuts down', () => {
  it('hands over to a member that campaigns, after its work has stopped', async () => {
    await using group = new Group();
    const [a, ...others] = group.ids.map((id) => group.member(id));
    await Promise.all(others.map((other) => other.start()));
    const seen: string[] = [];
    const leading = a!.lead(async ({ signal, ended }) => {
      signal.addEventListener('abort', () => seen.push('abort'));
      seen.push((await ended).reason);
    });
    await group.clock.advance(5_000);
    const next = Promise.race(others.map((other) => other.campaign()));
    await group.clock.advance(1_000);
    const beganMs = group.clock.monotonic();
    await group.clock.run(Promise.all([a!.shutdown(), a!.close()]));
    expect(seen).toEqual(['abort', 'handover']);
    expect(await leading).toBeUndefined();
    expect((await group.clock.run(next)).term).toBe(2n);
    expect(group.clock.monotonic() - beganMs).toBeLessThan(50);
  });

  it('resigns if no other member campaigns, or with `handover: false`', async () => {
    for (const handover of ['next', false] as const) {
      await using group = new Group();
      const leadership = await led(group, handover === false);
      await group.clock.run(group.members[0]!.shutdown({ handover }));
      expect(await leadership.ended).toMatchObject({ reason: 'memberClosed', lost: false });
    }
    await using group = new Group(['a']);
    await expect(group.member('a').shutdown({ handover: 'b' as 'next' })).rejects.toMatchObject({ code: 'INVALID_OPTION' });
  });
});
