import { describe, expect, it } from 'vitest';
import { Member } from '../../src/index.ts';
import { seeded } from '../support/random.ts';
import { LEADER, NAME, TERM, TTL_MS, World } from '../support/world.ts';

describe('a member', () => {
  it('does nothing until it is asked for something', async () => {
    const world = new World();
    const member = world.member('a');
    member.election(NAME);
    member.group('g');
    await world.pass(TTL_MS);
    expect(member.state).toBe('idle');
    expect(Object.values(world.server.requests).every((count) => count === 0)).toBe(true);
    expect([world.clock.timers, world.clock.holds, world.server.watches.open]).toEqual([0, 0, 0]);
  });

  it('has a random id unless it is given one, and another incarnation every time', () => {
    const world = new World();
    const store = world.connect();
    const members = [1, 2].map((seed) => new Member(store, { clock: world.clock, random: seeded(seed) }));
    expect(members.map(({ memberId }) => memberId)).toEqual([
      expect.stringMatching(/^[0-9a-v]{12}$/),
      expect.stringMatching(/^[0-9a-v]{12}$/),
    ]);
    expect(new Set(members.flatMap(({ memberId, incarnation }) => [memberId, incarnation])).size).toBe(4);
  });

  it('says how it stands with the store', async () => {
    const world = new World();
    const store = world.connect();
    const member = world.member('a', {}, store);
    const leadership = await world.elect(member);
    expect(member.state).toBe('live');
    store.link.cutOff();
    await world.pass(7_000);
    expect(member.state).toBe('suspect');
    await world.pass(2_500);
    expect([member.state, leadership.isValid()]).toEqual(['idle', false]);
    store.link.heal();
    await world.run(member.close());
    expect(member.state).toBe('closed');
  });

  it.each([
    ['a store that is none', undefined, {}],
    ['a promise of a store', Promise.resolve({}), {}],
    ['a misspelt option', 'store', { ttl: 5 }],
    ['a name that is none', 'store', { memberId: 'a/b' }],
    ['a logger that is none', 'store', { logger: { info: () => {} } }],
    ['a rebalance that never comes', 'store', { rebalanceEveryMs: 1 }],
  ])('refuses %s', (_, store, options) => {
    const made = (): unknown => Reflect.construct(Member, [store === 'store' ? new World().connect() : store, options]);
    expect(made).toThrow(expect.objectContaining({ code: expect.stringMatching(/INVALID_(OPTION|NAME)/) }));
  });

  it('warns of a store that may end a live lease', () => {
    const world = new World({ endsEarly: 'it is old' });
    world.member('a');
    expect(world.events.about('may end a lease')).toMatchObject([{ why: 'it is old', memberId: 'a' }]);
  });
});

it('what is written of a term survives its member', async () => {
  const world = new World();
  const member = world.member('a');
  await world.elect(member);
  await world.run(member.close());
  expect(world.server.keys()).toEqual([TERM]);
  expect(world.json(TERM)).toMatchObject({ term: '1', memberId: 'a', ended: { reason: 'memberClosed' } });
  expect(world.json(LEADER)).toBeUndefined();
});
