/** Exhaustive search over three members, in every order of events. See `explore/explore.ts`. */

import { describe, expect, it } from 'vitest';
import { explore } from './explore/explore.ts';

describe('three members elect at most one leader per term, in every order of events', { timeout: 120_000 }, () => {
  it.each([
    { maxTerm: 1, crashes: 1, handovers: 0, states: 100 },
    { maxTerm: 2, crashes: 0, handovers: 0, states: 1_000 },
    { maxTerm: 2, crashes: 0, handovers: 1, states: 10_000 },
  ])('with terms up to $maxTerm, $crashes crashes and $handovers handovers: all of them', ({ states, ...wanted }) => {
    const found = explore({ members: 3, ...wanted, maxStates: 100_000 });
    expect(found).toMatchObject({ complete: true });
    expect(found.broken).toBeUndefined();
    expect(found.states).toBeGreaterThan(states);
    expect(found.led).toBeGreaterThan(states / 3);
  });

  it('with a crash and a handover: up to some depth', () => {
    const found = explore({ members: 3, maxTerm: 2, crashes: 1, handovers: 1, maxStates: 20_000 });
    expect(found).toMatchObject({ states: 20_000, complete: false });
    expect(found.broken).toBeUndefined();
  });

  it('without durable votes, seven steps lead to two leaders, and fewer do not', () => {
    const { broken } = explore({ members: 3, maxTerm: 1, crashes: 1, handovers: 0, forgetful: true, maxStates: 100_000 });
    expect(broken?.what).toBe('ac lead one term');
    expect(broken?.steps).toEqual([
      'a asks for votes',
      'b hears vote of a, term 1',
      'a hears voteAnswer of b, term 1',
      'a crashes',
      'c asks for votes',
      'a hears vote of c, term 1',
      'c hears voteAnswer of a, term 1',
    ]);
  });
});
