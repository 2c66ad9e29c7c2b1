/**
 * The type of a leadership shows its guarantee: a fence accepts only the leadership of a quorum,
 * both in the types and at run time.
 */

import { Fence } from '@incumbent/core';
import { seeded } from '@incumbent/core/testing';
import { ManualClock } from '@incumbent/memory';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { MemoryNetwork, PeerMember, type PeerLeadership } from '../src/index.ts';
import { selfish } from './selfish.ts';
import { Group } from './support.ts';

describe('a leadership', () => {
  it('of a quorum has a term, which a fence accepts', async () => {
    await using group = new Group(['a']);
    const leadership = await group.clock.run(group.member('a').campaign());
    expectTypeOf(leadership).toEqualTypeOf<PeerLeadership<'quorum'>>();
    expectTypeOf(leadership.term).toEqualTypeOf<bigint>();
    expectTypeOf(leadership.round).toEqualTypeOf<undefined>();
    const fence = new Fence();
    fence.admit(leadership.term);
    expect(fence.highest).toBe(1n);
  });

  it('by best effort has a round, which no fence accepts', async () => {
    const clock = new ManualClock();
    const transport = new MemoryNetwork({ clock });
    const options = { algorithm: selfish(['a', 'b']), transport, clock, random: seeded(1) };
    await using a = new PeerMember({ ...options, memberId: 'a' });
    await using b = new PeerMember({ ...options, memberId: 'b' });
    const leaderships = await clock.run(Promise.all([a.campaign(), b.campaign()]));
    // Best effort: both are valid.
    expect(leaderships.map((one) => one.isValid())).toEqual([true, true]);
    const [leadership] = leaderships;
    expect(a.safety).toBe('bestEffort');
    expectTypeOf(leadership.round).toEqualTypeOf<number>();
    expectTypeOf(leadership.term).toEqualTypeOf<undefined>();
    const fence = new Fence();
    const invalid = expect.objectContaining({ code: 'INVALID_OPTION' });
    // @ts-expect-error a round is no term
    expect(() => fence.admit(leadership.round)).toThrow(invalid);
    // @ts-expect-error it has no term
    expect(() => fence.admit(leadership.term)).toThrow(invalid);
    expect(fence.highest).toBe(0n);
  });
});
