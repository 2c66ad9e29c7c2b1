import { describe, expect, it } from 'vitest';
import { byPriority, type Election, type MemberOptions } from '../../src/index.ts';
import { DRAIN_MS } from '../support/led.ts';
import { track, type Tracked } from '../support/track.ts';
import { NAME, World } from '../support/world.ts';

describe('rebalancing', () => {
  const succession = (priority: number): MemberOptions & { readonly priority: number } => ({ rebalanceEveryMs: 1_000, priority });

  async function lead(world: World, memberId: string, priority: number): Promise<bigint[]> {
    const { priority: rank, ...options } = succession(priority);
    const terms: bigint[] = [];
    const election = world.member(memberId, options).election(NAME, { succession: byPriority(rank, { rebalance: true }) });
    track(
      election.lead(async ({ term, ended }) => {
        terms.push(term);
        await ended;
      }),
    );
    await world.pass(100);
    return terms;
  }

  it('hands over to whoever is preferred, once it comes, and stays there', async () => {
    const world = new World();
    const low = await lead(world, 'low', 1);
    const high = await lead(world, 'high', 2);
    await world.pass(5_000);
    expect([low, high]).toEqual([[1n], [2n]]);
    await world.pass(60_000);
    expect([low, high]).toEqual([[1n], [2n]]);
    expect(world.events.about('preferred')).toMatchObject([{ election: NAME, to: 'high', term: '1' }]);
  });

  it('gives the work of a leadership from campaign the time of the drain, unless that work resigns', async () => {
    for (const resigns of [false, true]) {
      const world = new World();
      const election = world.member('low', { rebalanceEveryMs: 1_000 }).election(NAME, { succession: byPriority(1, { rebalance: true }) });
      const leadership = await world.run(election.campaign());
      const high = track(
        world
          .member('high')
          .election(NAME, { succession: byPriority(2) })
          .campaign(),
      );
      await world.until(() => !leadership.isValid());
      await world.pass(DRAIN_MS - 10);
      expect(high.state).toBe('pending');
      if (resigns) void leadership.resign();
      await world.pass(resigns ? 5 : 15);
      expect([(await leadership.ended).reason, high.value?.term]).toEqual(['handover', 2n]);
      await world.close();
    }
  });

  it('reports no handover to a candidate that leaves during the drain', async () => {
    const world = new World();
    const election = world.member('low', { rebalanceEveryMs: 1_000 }).election(NAME, { succession: byPriority(1, { rebalance: true }) });
    const leadership = await world.run(election.campaign());
    const high = world.member('high');
    track(high.election(NAME, { succession: byPriority(2) }).campaign());
    await world.until(() => !leadership.isValid());
    await world.run(high.close());
    await world.pass(2 * DRAIN_MS);
    expect((await leadership.ended).reason).toBe('handover');
    expect(world.events.about('preferred')).toEqual([]);
    await world.close();
    world.expectNothingLeft();
  });

  it('checks a tenth of the elections in an interval', async () => {
    const world = new World();
    const member = world.member('a', { rebalanceEveryMs: 1_000 });
    const names = Array.from({ length: 20 }, (_, i) => `e${i}`);
    await world.run(Promise.all(names.map((name) => member.election(name, { succession: byPriority(1, { rebalance: true }) }).campaign())));
    const before = world.server.requests.list;
    await world.pass(10_500);
    expect(world.server.requests.list - before).toBe(20);
  });

  it('hands over all elections that prefer a member within one interval', async () => {
    const world = new World();
    const names = Array.from({ length: 20 }, (_, i) => `e${i}`);
    const join = (memberId: string, priority: number): Election[] => {
      const member = world.member(memberId, { rebalanceEveryMs: 1_000 });
      const elections = names.map((name) => member.election(name, { succession: byPriority(priority, { rebalance: true }) }));
      for (const election of elections) track(election.lead(async ({ ended }) => void (await ended)));
      return elections;
    };
    const low = join('low', 1);
    await world.pass(100);
    const high = join('high', 2);
    await world.pass(1_500);
    expect(high.filter(({ leadership }) => leadership !== undefined)).toHaveLength(20);
    expect(low.filter(({ leadership }) => leadership !== undefined)).toHaveLength(0);
  });

  it('hands over one election at a time, also one that is won while another is handed over', async () => {
    const world = new World();
    const member = world.member('low', { rebalanceEveryMs: 100, drainMs: 3_000 });
    const preferred = world.member('high');
    let [draining, most] = [0, 0];
    const leadAndPrefer = async (name: string): Promise<Tracked<unknown>> => {
      const election = member.election(name, { succession: byPriority(1, { rebalance: true }) });
      const stopsSlowly = async (): Promise<void> => {
        draining += 1;
        most = Math.max(most, draining);
        await new Promise<void>((resolve) => void world.clock.schedule(1_500, resolve));
        draining -= 1;
      };
      track(election.lead(({ ended }) => ended.then(stopsSlowly)));
      await world.pass(50);
      return track(preferred.election(name, { succession: byPriority(2) }).campaign());
    };
    const first = await leadAndPrefer('first');
    await world.pass(70);
    const second = await leadAndPrefer('second');
    await world.pass(5_000);
    expect([first.state, second.state, most]).toEqual(['resolved', 'resolved', 1]);
  });

  it('goes on after a failed check', async () => {
    const world = new World();
    const store = world.connect();
    const leadership = await world.run(
      world
        .member('low', { rebalanceEveryMs: 1_000 }, store)
        .election(NAME, { succession: byPriority(1, { rebalance: true }) })
        .campaign(),
    );
    store.link.dropRequests(1, { operations: ['list'], how: 'reset' });
    await world.pass(1_500);
    const high = track(
      world
        .member('high')
        .election(NAME, { succession: byPriority(2) })
        .campaign(),
    );
    await world.pass(5_000);
    expect([leadership.isValid(), high.value?.term]).toEqual([false, 2n]);
  });
});
