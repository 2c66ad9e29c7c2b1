import fc from 'fast-check';
import { isIncumbentError } from 'incumbent';
import { describe, expect, it } from 'vitest';
import { alterIsr, createTopic, type Partition, type Partitions, preferLeaders, type Presence, repair, spread } from '../partitions.ts';

const BROKERS = ['b1', 'b2', 'b3', 'b4', 'b5'];

function presence(live: readonly string[], leaving: readonly string[] = []): Presence {
  return { live: new Set(live), leaving: new Set(leaving) };
}

function without(...gone: readonly string[]): Presence {
  return presence(BROKERS.filter((id) => !gone.includes(id)));
}

function one(partial: Partial<Partition> = {}): Partitions {
  const replicas = ['b1', 'b2', 'b3'];
  return new Map([['t-0', { replicas, target: null, leader: 'b1', leaderEpoch: 1, isr: replicas, version: 1, ...partial }]]);
}

/** The partitions after these changes. */
function after(partitions: Partitions, changes: Partitions): Partitions {
  return new Map([...partitions, ...changes]);
}

function topic(partitions: number, brokers: readonly string[] = BROKERS): Partitions {
  return createTopic({ topic: 't', partitions, replicationFactor: 3 }, new Set(brokers));
}

describe('a new topic', () => {
  it('has its leaders and its replicas spread over the brokers', () => {
    const partitions = [...topic(10).values()];
    for (const broker of BROKERS) {
      expect(partitions.filter(({ leader }) => leader === broker)).toHaveLength(2);
      expect(partitions.filter(({ replicas }) => replicas.includes(broker))).toHaveLength(6);
    }
    for (const { replicas, isr, leader } of partitions) {
      expect(new Set(replicas).size).toBe(3);
      expect(isr).toEqual(replicas);
      expect(leader).toBe(replicas[0]);
    }
  });

  it.each([0, 6])('is refused with a replication factor of %i for five brokers', (replicationFactor) => {
    expect(() => createTopic({ topic: 't', partitions: 1, replicationFactor }, new Set(BROKERS))).toThrow(/it must be from 1 to 5/);
  });
});

describe('repair', () => {
  it('has nothing to do where all is well', () => {
    expect(repair(topic(10), presence(BROKERS)).size).toBe(0);
  });

  it('puts the first replica that is in sync in the place of a leader that died', () => {
    expect(repair(one(), without('b1')).get('t-0')).toMatchObject({ leader: 'b2', leaderEpoch: 2, isr: ['b2', 'b3'], version: 2 });
    expect(repair(one({ isr: ['b1', 'b3'] }), without('b1')).get('t-0')).toMatchObject({ leader: 'b3', isr: ['b3'] });
  });

  it('keeps the leader when a follower died', () => {
    expect(repair(one(), without('b2')).get('t-0')).toMatchObject({ leader: 'b1', leaderEpoch: 1, isr: ['b1', 'b3'] });
  });

  it('lets a partition wait for one that has everything, rather than be led by one that has not', () => {
    const waiting = after(one({ isr: ['b1'] }), repair(one({ isr: ['b1'] }), without('b1')));
    expect(waiting.get('t-0')).toMatchObject({ leader: null, isr: ['b1'] });
    expect(repair(waiting, without('b1')).size).toBe(0);
    expect(repair(waiting, presence(BROKERS)).get('t-0')).toMatchObject({ leader: 'b1', leaderEpoch: 2 });
  });

  it('keeps the whole in-sync set when all are away at once, as when the store was', () => {
    expect(repair(one(), presence([])).get('t-0')).toMatchObject({ leader: null, isr: ['b1', 'b2', 'b3'] });
  });

  it('takes leadership, and the place in sync, from one that is leaving, unless nobody else could lead', () => {
    expect(repair(one(), presence(BROKERS, ['b1'])).get('t-0')).toMatchObject({ leader: 'b2', isr: ['b2', 'b3'] });
    expect(repair(one({ isr: ['b1'] }), presence(BROKERS, ['b1'])).size).toBe(0);
  });
});

describe('preferred leaders', () => {
  it('lead again when they are back in sync, and not before', () => {
    const back = one({ leader: 'b2', leaderEpoch: 2, isr: ['b2', 'b3'] });
    expect(preferLeaders(back, presence(BROKERS)).size).toBe(0);
    const inSync = one({ leader: 'b2', leaderEpoch: 2 });
    expect(preferLeaders(inSync, presence(BROKERS)).get('t-0')).toMatchObject({ leader: 'b1', leaderEpoch: 3 });
    expect(preferLeaders(inSync, presence(BROKERS, ['b1'])).size).toBe(0);
  });
});

describe("a leader's wish to change the in-sync set", () => {
  const wish = { partition: 't-0', leaderEpoch: 1, version: 1, isr: ['b1', 'b2'] };

  it('is granted', () => {
    expect(alterIsr(one(), wish, presence(BROKERS)).get('t-0')).toMatchObject({ isr: ['b1', 'b2'], version: 2 });
  });

  it('is refused when a newer one leads', () => {
    const refusal = (): unknown => alterIsr(one({ leaderEpoch: 2, leader: 'b2' }), wish, presence(BROKERS));
    expect(refusal).toThrow(expect.objectContaining({ code: 'STALE_TERM', details: { term: 1n, seen: 2n } }));
    expect(isIncumbentError).toBeTypeOf('function');
  });

  it('comes to nothing when the partition has changed since, as the leader had not seen who was dropped', () => {
    expect(alterIsr(one({ version: 2, isr: ['b1'] }), wish, presence(BROKERS)).size).toBe(0);
  });

  it('comes to nothing for one that is not there, that leaves, or that keeps no replica', () => {
    const small = one({ isr: ['b1'] });
    expect(alterIsr(small, wish, without('b2')).size).toBe(0);
    expect(alterIsr(small, wish, presence(BROKERS, ['b2'])).size).toBe(0);
    expect(alterIsr(small, { ...wish, isr: ['b1', 'b5'] }, presence(BROKERS)).size).toBe(0);
  });

  it('is a change even where the set is so already: no older wish can be granted after it', () => {
    const settled = after(one(), alterIsr(one(), { ...wish, isr: ['b1', 'b2', 'b3'] }, presence(BROKERS)));
    expect(settled.get('t-0')).toMatchObject({ isr: ['b1', 'b2', 'b3'], version: 2 });
    expect(alterIsr(settled, wish, presence(BROKERS)).size).toBe(0);
  });
});

describe('a broker that joins', () => {
  const brokers = [...BROKERS, 'b6'];

  it('gets its share, by as few moves as that takes', () => {
    const moves = spread(topic(10), presence(brokers));
    expect(moves.size).toBe(5);
    for (const { target, replicas } of moves.values()) {
      expect(target).toContain('b6');
      expect(replicas).toHaveLength(4);
    }
  });

  it('gets nothing while others are moving, or when it keeps something already', () => {
    const moving = after(topic(10), new Map([...spread(topic(10), presence(brokers))].slice(0, 1)));
    expect(spread(moving, presence(brokers)).size).toBe(0);
    expect(spread(topic(4), presence(BROKERS)).size).toBe(0);
  });

  it('takes its place when all who are to keep the partition are in sync, and who is to go leads no longer', () => {
    const target = ['b4', 'b2', 'b3'];
    const moving = one({ replicas: ['b1', 'b2', 'b3', 'b4'], target });
    expect(repair(moving, presence(BROKERS)).size).toBe(0);
    const caughtUp = after(moving, new Map([['t-0', { ...moving.get('t-0')!, isr: ['b1', 'b2', 'b3', 'b4'] }]]));
    expect(repair(caughtUp, presence(BROKERS)).get('t-0')).toMatchObject({
      replicas: target,
      target: null,
      leader: 'b4',
      leaderEpoch: 2,
      isr: target,
    });
  });
});

describe('whatever comes and goes', () => {
  const ids = [...BROKERS, 'b6'];
  const step = fc.record({
    live: fc.subarray(ids),
    leaving: fc.subarray(ids),
    what: fc.constantFrom('repair', 'prefer', 'spread', 'join', 'drop'),
    follower: fc.constantFrom(...ids),
  });

  /** A possible next step of a controller, given what it knows. */
  function act(
    partitions: Partitions,
    { live, leaving, what, follower }: typeof step extends fc.Arbitrary<infer T> ? T : never,
  ): Partitions {
    const there = presence(live, leaving);
    if (what === 'prefer') return preferLeaders(partitions, there);
    if (what === 'spread') return spread(partitions, there);
    if (what === 'repair') return repair(partitions, there);
    const changes = [...partitions].flatMap(([partition, { leader, leaderEpoch, version, isr }]) => {
      const wished = what === 'join' ? [...isr, follower] : isr.filter((id) => id !== follower);
      return leader === null ? [] : [...alterIsr(partitions, { partition, leaderEpoch, version, isr: wished }, there)];
    });
    return new Map(changes);
  }

  it('only one that is in sync becomes a leader, each with a higher epoch, and somebody always has everything', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        let partitions = topic(6);
        for (const taken of steps) {
          const changes = act(partitions, taken);
          for (const [name, next] of changes) {
            const before = partitions.get(name)!;
            expect(next.version).toBe(before.version + 1);
            expect(next.isr.length).toBeGreaterThan(0);
            expect(next.replicas).toEqual(expect.arrayContaining([...next.isr]));
            expect(new Set(next.replicas).size).toBe(next.replicas.length);
            if (next.leader !== null) expect(next.isr).toContain(next.leader);
            if (next.leader !== null && next.leader !== before.leader) {
              expect(before.isr).toContain(next.leader);
              expect(next.leaderEpoch).toBe(before.leaderEpoch + 1);
            } else expect(next.leaderEpoch).toBe(before.leaderEpoch);
          }
          partitions = after(partitions, changes);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('when all are there again, every partition has its preferred leader, after a few rounds', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
        let partitions = topic(6);
        for (const taken of steps) partitions = after(partitions, act(partitions, taken));
        const all = presence(ids);
        for (let round = 0; round < 10; round += 1) {
          partitions = after(partitions, repair(partitions, all));
          const caughtUp = [...partitions].flatMap(([partition, { leaderEpoch, version, replicas }]) => [
            ...alterIsr(partitions, { partition, leaderEpoch, version, isr: replicas }, all),
          ]);
          partitions = after(partitions, new Map(caughtUp));
          partitions = after(partitions, preferLeaders(partitions, all));
          partitions = after(partitions, spread(partitions, all));
        }
        partitions = after(partitions, repair(partitions, all));
        partitions = after(partitions, preferLeaders(partitions, all));
        for (const { leader, replicas, target } of partitions.values()) {
          expect(target).toBeNull();
          expect(leader).toBe(replicas[0]);
        }
      }),
      { numRuns: 200 },
    );
  });
});
