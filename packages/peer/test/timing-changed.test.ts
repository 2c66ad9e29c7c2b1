/** A member that starts with a shorter election timeout than the one of its last promise. */

import { describe, expect, it } from 'vitest';
import { quorum, type PeerMember } from '../src/index.ts';
import { Group } from './support.ts';

const LONG_MS = 10_000;
const SHORT_MS = 1_000;

/** The member `a` leads with the long timeout, and `b` and `c` have promised to vote for nobody. */
async function led(group: Group) {
  const [a, b, c] = group.ids.map((id) => group.member(id));
  await Promise.all([b!.start(), c!.start()]);
  const leadership = await group.clock.run(a!.campaign(), { withinMs: 60_000 });
  await group.clock.advance(3_000);
  return { leadership, followers: [b!, c!] };
}

/** Replaces the processes of `b` and `c` by processes with the short timeout. */
async function restart(group: Group, followers: readonly PeerMember<'quorum'>[]): Promise<PeerMember<'quorum'>[]> {
  await group.clock.run(Promise.all(followers.map((member) => member.close())));
  const algorithm = quorum({ members: group.ids, electionTimeoutMinMs: SHORT_MS });
  const members = ['b', 'c'].map((id) => group.member(id, { algorithm }));
  await Promise.all(members.map((member) => member.start()));
  return members;
}

describe('members that start with a shorter election timeout', () => {
  it.each([
    ['once', []],
    ['twice, the second time before the former promise is over', [2_000]],
    ['three times', [1_500, 1_500]],
  ])('elect nobody while a leader relies on their former promise: they restart %s', async (_, pausesMs) => {
    await using group = new Group(['a', 'b', 'c'], { electionTimeoutMinMs: LONG_MS });
    const { leadership, followers } = await led(group);
    let members = await restart(group, followers);
    for (const pauseMs of pausesMs) {
      await group.clock.advance(pauseMs);
      members = await restart(group, members);
    }
    const next = await group.clock.run(members[0]!.campaign(), { withinMs: 60_000 });
    expect(leadership.isValid()).toBe(false);
    expect(next.term).toBeGreaterThan(leadership.term);
  });

  it('save the shorter promise once the former one is over', async () => {
    await using group = new Group(['a', 'b', 'c'], { electionTimeoutMinMs: LONG_MS });
    const votes = async (): Promise<readonly unknown[]> => Promise.all(['b', 'c'].map(async (id) => group.storages.get(id)?.load()));
    const { followers } = await led(group);
    expect(await votes()).toMatchObject([{ promiseMs: LONG_MS }, { promiseMs: LONG_MS }]);
    const [b] = await restart(group, followers);
    await group.clock.run(b!.campaign(), { withinMs: 60_000 });
    await group.clock.advance(1_000);
    expect(await votes()).toMatchObject([{ promiseMs: SHORT_MS }, { promiseMs: SHORT_MS }]);
  });
});
