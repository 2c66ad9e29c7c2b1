import { describe, expect, it } from 'vitest';
import type { ElectionOptions, LeadershipEnd } from '../../src/index.ts';
import { LEADER, NAME, TTL_MS, World } from '../support/world.ts';

describe('the callbacks of an election', () => {
  it('are called when the member is elected, and when its leadership has ended', async () => {
    const world = new World();
    const calls: unknown[] = [];
    const election = world.member('a').election(NAME, {
      onElected: ({ term }) => calls.push(term),
      onEnded: ({ term, reason }: LeadershipEnd) => calls.push(term, reason),
    });
    void election.lead(async ({ ended }) => void (await ended));
    await world.pass(100);
    expect(calls).toEqual([1n]);
    world.server.deleteKey(LEADER);
    await world.pass(TTL_MS);
    expect(calls).toEqual([1n, 1n, 'recordDeleted', 2n]);
    await world.close();
    expect(calls.slice(4)).toEqual([2n, 'memberClosed']);
    world.expectNothingLeft();
  });

  it('are told the election, so several elections can share them', async () => {
    const world = new World();
    const calls: string[] = [];
    const shared: ElectionOptions = {
      onElected: ({ election }) => calls.push(`${election} is led`),
      onEnded: ({ election }) => calls.push(`${election} has ended`),
    };
    const member = world.member('a');
    const [blue] = await world.run(Promise.all(['blue', 'red'].map((name) => member.election(name, shared).campaign())));
    expect(calls.splice(0)).toEqual(['blue is led', 'red is led']);
    await world.run(blue?.resign() ?? expect.unreachable());
    expect(calls).toEqual(['blue has ended']);
    expect(blue?.signal.reason).toMatchObject({ code: 'LEADERSHIP_ENDED', details: { election: 'blue' } });
    await world.close();
    world.expectNothingLeft();
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('mine');
      },
    ],
    [
      'rejects',
      async () => {
        throw new Error('mine');
      },
    ],
  ])('end no leadership where one %s: the error goes to an event', async (_, callback) => {
    const world = new World();
    const election = world.member('a').election(NAME, { onElected: callback, onEnded: callback });
    const leadership = await world.run(election.campaign());
    expect(leadership.isValid()).toBe(true);
    await world.run(leadership.resign());
    expect(world.events.about('a subscriber threw')).toMatchObject([
      { election: NAME, err: { message: 'mine' } },
      { election: NAME, err: { message: 'mine' } },
    ]);
    await world.close();
  });

  it('are refused if they are no functions', () => {
    const member = new World().member('a');
    expect(() => Reflect.apply(member.election, member, [NAME, { onElected: 5 }])).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION' }),
    );
  });
});

describe('a listener of an election', () => {
  it('is called at each election after the option, until it is removed', async () => {
    const world = new World();
    const calls: string[] = [];
    const election = world.member('a').election(NAME, { onElected: ({ term }) => calls.push(`option ${term}`) });
    const remove = election.onElected(({ term }) => calls.push(`listener ${term}`));
    for (const last of ['option 1, listener 1', 'option 2, listener 2', 'option 3']) {
      const leadership = await world.run(election.campaign());
      expect(calls.splice(0).join(', ')).toBe(last);
      await world.run(leadership.resign());
      if (leadership.term === 2n) remove();
    }
    await world.close();
    world.expectNothingLeft();
  });

  it('that throws keeps no other one from being called', async () => {
    const world = new World();
    const terms: bigint[] = [];
    const election = world.member('a').election(NAME);
    election.onElected(() => {
      throw new Error('mine');
    });
    election.onElected(({ term }) => terms.push(term));
    await world.run(election.campaign());
    expect(terms).toEqual([1n]);
    expect(world.events.about('a subscriber threw')).toMatchObject([{ election: NAME, err: { message: 'mine' } }]);
    await world.close();
  });

  it('that a listener adds is called from the next election on', async () => {
    const world = new World();
    const terms: bigint[] = [];
    const election = world.member('a').election(NAME);
    const listen = (): void => {
      const remove = election.onElected(({ term }) => {
        remove();
        if (terms.push(term) < 100) listen();
      });
    };
    listen();
    const leadership = await world.run(election.campaign());
    expect(terms).toEqual([1n]);
    await world.run(leadership.resign());
    await world.run(election.campaign());
    expect(terms).toEqual([1n, 2n]);
    await world.close();
  });

  it('sees the leadership as that of the election', async () => {
    const world = new World();
    const seen: unknown[] = [];
    const election = world.member('a').election(NAME);
    election.onElected((leadership) => seen.push(election.leadership === leadership));
    const leadership = await world.run(election.campaign());
    expect([seen, election.leadership]).toEqual([[true], leadership]);
    await world.close();
  });

  it('that a listener removes is not called any more', async () => {
    const world = new World();
    const terms: bigint[] = [];
    const election = world.member('a').election(NAME);
    election.onElected(() => remove());
    const remove = election.onElected(({ term }) => terms.push(term));
    await world.run(election.campaign());
    expect(terms).toEqual([]);
    await world.close();
  });

  it('is refused if it is no function', () => {
    const election = new World().member('a').election(NAME);
    expect(() => Reflect.apply(election.onElected, election, [5])).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
  });
});
