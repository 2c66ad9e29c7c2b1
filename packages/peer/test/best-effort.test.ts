/** The best-effort algorithms through the public API. */

import { Fence } from '@incumbent/core';
import { describe, expect, it } from 'vitest';
import { names } from './best-effort/algorithms.ts';
import { Group } from './best-effort/group.ts';

const THREE = ['a', 'b', 'c'];

describe.each(names)('%s', (name) => {
  it('one member leads, all see it, and another succeeds it after a crash', async () => {
    await using group = new Group(name, THREE).lead(...THREE);
    await group.clock.advance(6_000);
    const [first = ''] = group.leaders;
    expect(group.leaders).toHaveLength(1);
    expect(group.views).toEqual([first, first, first]);
    await group.crash(first);
    await group.clock.advance(6_000);
    expect(group.leaders).toHaveLength(1);
    expect(group.leaders).not.toContain(first);
    expect(group.views).toEqual([...group.leaders, ...group.leaders]);
  });

  it('its leadership has a round and no term, and a fence does not accept it', async () => {
    await using group = new Group(name, THREE).lead('a', 'b', 'c');
    await group.clock.advance(6_000);
    const { term, round } = group.led.at(-1)!;
    expect(term).toBeUndefined();
    expect(round).toBeGreaterThan(0);
    // @ts-expect-error -- no term, no fence
    expect(() => new Fence().admit(term)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
    // @ts-expect-error -- a round is a hint
    expect(() => new Fence().admit(round)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
  });

  it('elects only members that campaign; the others take part', async () => {
    await using group = new Group(name, THREE);
    await Promise.all([group.member('a').start(), group.member('c').start()]);
    group.lead('b');
    await group.clock.advance(6_000);
    expect(group.leaders).toEqual(['b']);
    expect(group.views).toEqual(['b', 'b', 'b']);
  });

  it('the leadership of a paused leader is not valid when its process resumes', async () => {
    await using group = new Group(name, THREE).lead(...THREE);
    await group.clock.advance(6_000);
    const leadership = group.led.findLast((one) => one.isValid())!;
    group.clock.advanceWall(1_500);
    expect(leadership.isValid()).toBe(false);
    expect(await leadership.ended).toMatchObject({ reason: 'clockJump', lost: true });
  });

  it('a leader that is cut off stays leader, the others elect another, and one of the two remains after the heal', async () => {
    await using group = new Group(name, THREE).lead(...THREE);
    await group.clock.advance(6_000);
    const [first = ''] = group.leaders;
    group.network.isolate(first);
    await group.clock.advance(6_000);
    expect(group.leaders).toHaveLength(2);
    group.network.heal();
    await group.clock.advance(6_000);
    expect(group.leaders).toHaveLength(1);
    expect(new Set(group.views)).toEqual(new Set(group.leaders));
    const ended = group.led.filter((one) => !one.isValid());
    expect(await Promise.all(ended.map(async (one) => (await one.ended).reason))).toContain('superseded');
  });

  it('after a handover the successor leads at once', async () => {
    await using group = new Group(name, THREE).lead(...THREE);
    await group.clock.advance(6_000);
    const leadership = group.led.findLast((one) => one.isValid())!;
    await group.clock.run(leadership.handover());
    await group.clock.advance(20);
    const [successor] = group.leaders;
    expect(group.leaders).toHaveLength(1);
    expect(successor).not.toBe(leadership.memberId);
    await group.clock.advance(6_000);
    expect(group.leaders).toEqual([successor]);
  });

  it('a handover without a successor fails, and the leadership continues', async () => {
    await using group = new Group(name, THREE);
    await group.member('b').start();
    group.lead('a');
    await group.clock.advance(6_000);
    const leadership = group.led.at(-1)!;
    const refuses = async (to: string | undefined, message: string): Promise<void> =>
      expect(leadership.handover(to)).rejects.toMatchObject({ code: 'NO_SUCH_CANDIDATE', message });
    await refuses(undefined, 'cannot hand over: no other member that may lead campaigns and has answered the latest heartbeats');
    await refuses('a', 'cannot hand over to "a": it is the leader itself');
    await refuses('z', 'cannot hand over to "z": it is not one of the members');
    await expect(leadership.handover('b')).rejects.toMatchObject({ code: 'NO_SUCH_CANDIDATE' });
    await refuses('c', 'cannot hand over to "c": it has not answered the latest heartbeats');
    expect(leadership.isValid()).toBe(true);
  });

  it('after a resignation another member soon leads, and closed members leave nothing behind', async () => {
    const group = new Group(name, THREE).lead(...THREE);
    await group.clock.advance(6_000);
    await group.clock.run(group.led.findLast((one) => one.isValid())!.resign());
    await group.clock.advance(3_000);
    expect(group.leaders).toHaveLength(1);
    await group[Symbol.asyncDispose]();
    expect(group.leaders).toEqual([]);
    // Their last messages are lost.
    await group.clock.advance(5);
    expect([group.clock.holds, group.clock.timers]).toEqual([0, 0]);
  });

  it('a group of one member has a leader', async () => {
    await using group = new Group(name, ['a']).lead('a');
    await group.clock.advance(3_000);
    expect(group.leaders).toEqual(['a']);
    await group.clock.advance(60_000);
    expect(group.led).toHaveLength(1);
  });
});

describe('bully', () => {
  it('the best member takes over when it returns; one that fails repeatedly does not, until its failures are forgiven', async () => {
    await using group = new Group('bully', THREE, { forgiveMs: 20_000 }).lead(...THREE);
    await group.clock.advance(4_000);
    expect(group.leaders).toEqual(['a']);
    await group.crash('a');
    await group.clock.advance(3_000);
    expect(group.leaders).toEqual(['b']);
    group.lead('a');
    await group.clock.advance(3_000);
    expect(group.leaders).toEqual(['a']);
    await group.crash('a');
    await group.clock.advance(3_000);
    group.lead('a');
    await group.clock.advance(10_000);
    expect(group.leaders).toEqual(['b']);
    expect(group.views).toEqual(['b', 'b', 'b']);
    await group.clock.advance(20_000);
    expect(group.leaders).toEqual(['a']);
  });

  it('hands over only to the best other member: a better one would take over at once', async () => {
    await using group = new Group('bully', THREE).lead(...THREE);
    await group.clock.advance(4_000);
    const [leadership] = group.led;
    await expect(leadership!.handover('c')).rejects.toMatchObject({
      code: 'NO_SUCH_CANDIDATE',
      message: 'cannot hand over to "c": the better member "b" would take over from it',
    });
    await group.clock.run(leadership!.handover('b'));
    await group.clock.advance(30_000);
    // Whether it ranks higher or not, the former leader does not campaign again while it hears a
    // leader.
    expect(group.leaders).toEqual(['b']);
    await group.crash('b');
    await group.clock.advance(3_000);
    expect(group.leaders).toEqual(['a']);
  });
});

describe('candidateOrdinary', () => {
  it('hands over to candidates only', async () => {
    await using group = new Group('candidateOrdinary', THREE, { candidates: ['a', 'b'] }).lead(...THREE);
    await group.clock.advance(6_000);
    const [leadership] = group.led;
    await expect(leadership!.handover('c')).rejects.toMatchObject({
      code: 'NO_SUCH_CANDIDATE',
      message: 'cannot hand over to "c": it is not one of the candidates',
    });
    await group.clock.run(leadership!.handover(leadership!.memberId === 'a' ? 'b' : 'a'));
  });

  it('elects only candidates, and nobody if no candidate is alive', async () => {
    await using group = new Group('candidateOrdinary', THREE, { candidates: ['b'] }).lead(...THREE);
    await group.clock.advance(6_000);
    expect(group.leaders).toEqual(['b']);
    await group.crash('b');
    await group.clock.advance(20_000);
    expect(group.leaders).toEqual([]);
    group.lead('b');
    await group.clock.advance(6_000);
    expect(group.leaders).toEqual(['b']);
  });
});

describe('ring', () => {
  it.each(['live-set', 'maximum'] as const)('%s: elects the best live member', async (variant) => {
    await using group = new Group('ring', ['a', 'b', 'c', 'd'], { variant }).lead('b', 'c', 'd');
    await group.clock.advance(10_000);
    expect(group.leaders).toEqual(['b']);
  });

  it('has a leader although the member that would win stops campaigning while its token circles', async () => {
    await using group = new Group('ring', ['a', 'd', 'b', 'c']).lead('d');
    await group.clock.advance(3_000);
    group.lead('b', 'c');
    const campaign = new AbortController();
    group
      .member('a')
      .campaign({ signal: campaign.signal })
      .catch(() => {});
    await group.clock.advance(3_000);
    expect(group.views).toEqual(['d', 'd', 'd', 'd']);
    // The member `a` is the first to miss the leader, and starts an election.
    group.network.cut('d', 'a');
    await group.clock.advance(500);
    await group.crash('d');
    await group.clock.advance(600);
    campaign.abort();
    await group.clock.advance(10_000);
    expect(group.leaders).toEqual(['b']);
    expect(group.views).toEqual(['b', 'b', 'b']);
  });
});
