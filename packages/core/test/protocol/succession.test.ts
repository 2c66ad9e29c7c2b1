import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { byMemberId, byPriority, byVersion, firstComeFirstServed, rendezvous, type Candidate, type Succession } from '../../src/index.ts';
import { checkSuccession, inSuccession, readName, writeName } from '../../src/protocol/succession.ts';
import { entryOf } from '../support/entries.ts';
import { check } from '../support/property.ts';

const memberIds = fc.stringMatching(/^[A-Za-z0-9._-]{1,12}$/).filter((id) => id !== '.' && id !== '..');

/** A queue in which some members are twice, with two incarnations. Every order occurs once. */
function candidates(rank: fc.Arbitrary<string>): fc.Arbitrary<readonly Candidate[]> {
  const one = fc.record({ memberId: memberIds, incarnation: fc.constantFrom('i', 'j'), rank });
  return fc.array(one, { minLength: 1, maxLength: 12 }).map((queue) => queue.map((parts, at) => ({ ...parts, order: BigInt(at + 1) })));
}

const byLength = (a: string, b: string): number => a.length - b.length;
const successions: readonly (readonly [string, Succession, fc.Arbitrary<string>])[] = [
  ['firstComeFirstServed', firstComeFirstServed(), fc.constant('')],
  ['byPriority', byPriority(0), fc.integer({ min: -3, max: 3 }).map(String)],
  ['byVersion, newest', byVersion('1.0.0', 'newest'), fc.constantFrom('1.0.0', '1.0.0-rc.1', '1.10.0', '2.0.0', 'x')],
  ['byVersion, oldest', byVersion('1.0.0', 'oldest'), fc.constantFrom('1.0.0', '1.0.0-rc.1', '1.10.0', '2.0.0', 'x')],
  ['rendezvous', rendezvous(), fc.constantFrom('00000000', '0000000f', 'fffffff0', 'ffffffff')],
  ['byMemberId', byMemberId('length', byLength), fc.constant('')],
  ['byMemberId that compares with NaN', byMemberId('broken', () => Number.NaN), fc.constant('')],
];

describe.each(successions)('%s', (_, succession, rank) => {
  it('is a total order: of two candidates one goes before the other, and nobody before itself', () => {
    check(
      fc.property(candidates(rank), (queue) => {
        for (const a of queue) {
          for (const b of queue) expect(Math.sign(succession.compare(a, b))).toBe(-Math.sign(succession.compare(b, a)) + 0);
          expect(queue.filter((b) => succession.compare(a, b) === 0)).toEqual([a]);
        }
      }),
    );
  });

  it('is transitive', () => {
    check(
      fc.property(candidates(rank), fc.nat(), fc.nat(), fc.nat(), (queue, i, j, k) => {
        const [a, b, c] = [queue[i % queue.length]!, queue[j % queue.length]!, queue[k % queue.length]!];
        if (succession.compare(a, b) <= 0 && succession.compare(b, c) <= 0) expect(succession.compare(a, c)).toBeLessThanOrEqual(0);
      }),
    );
  });

  it('orders a queue the same way from wherever it is seen', () => {
    const ids = (queue: readonly Candidate[]): readonly bigint[] => queue.toSorted(succession.compare).map(({ order }) => order);
    check(fc.property(candidates(rank), (queue) => ids(queue).join() === ids(queue.toReversed()).join()));
  });
});

it('only where arrival decides are those before a candidate enough to know who goes before it', () => {
  expect(successions.filter(([, { byArrival }]) => byArrival).map(([name]) => name)).toEqual(['firstComeFirstServed']);
});

describe('ties', () => {
  it('of priority go to who joined first', () => {
    const { compare } = byPriority(0);
    const [early, late] = [candidate('b', '5', 1n), candidate('a', '5', 2n)];
    expect([late, early].toSorted(compare)).toEqual([early, late]);
    expect([early, candidate('c', '6', 9n)].toSorted(compare).map(({ memberId }) => memberId)).toEqual(['c', 'b']);
  });

  it('of member ids that compare as equal go to who joined first', () => {
    const { compare } = byMemberId('length', byLength);
    expect(
      ['bb', 'a', 'c']
        .map((id, at) => candidate(id, '', BigInt(at)))
        .toSorted(compare)
        .map(({ memberId }) => memberId),
    ).toEqual(['a', 'c', 'bb']);
  });
});

describe('priorities', () => {
  it('are compared as numbers, the negative ones too', () => {
    const ranks = [-1_000_000, -2, 0, 3, 10, 1_000_000].map((priority) => byPriority(priority).rank({ election: 'e', memberId: 'm' }));
    const queue = ranks.map((rank, at) => candidate(`m${at}`, rank, BigInt(at)));
    expect(queue.toSorted(byPriority(0).compare).map(({ memberId }) => memberId)).toEqual(['m5', 'm4', 'm3', 'm2', 'm1', 'm0']);
  });

  it.each([1_000_001, -1_000_001, Number.NaN, '5'])('are refused outside their range: %s', (priority) => {
    expect(() => Reflect.apply(byPriority, undefined, [priority])).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
  });

  it('are whole: a fraction is refused, and not rounded away in silence', () => {
    expect(() => byPriority(1.5)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
  });
});

describe('versions', () => {
  const queue = ['1.10.0', '1.9.0', '1.10.0', '2.0.0-rc.1'].map((version, at) =>
    candidate(`m${at}`, byVersion(version, 'newest').rank({ election: 'e', memberId: 'm' }), BigInt(at)),
  );

  it('go from the newest or from the oldest, and equal ones in the order of joining', () => {
    const order = (first: 'newest' | 'oldest'): readonly string[] =>
      queue.toSorted(byVersion('1.0.0', first).compare).map(({ memberId }) => memberId);
    expect([order('newest'), order('oldest')]).toEqual([
      ['m3', 'm0', 'm2', 'm1'],
      ['m1', 'm0', 'm2', 'm3'],
    ]);
  });

  it.each([['1.0'], ['1.0.0', 'first'], ['1.0.0', undefined], [undefined, 'newest'], ['1.0.0', 'newest', { rebalance: 1 }]])(
    'are refused: %s, %s',
    (...args) => {
      expect(() => Reflect.apply(byVersion, undefined, args)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
    },
  );

  it('from the newest and from the oldest are two successions', () => {
    expect(byVersion('1.0.0', 'newest').id).not.toBe(byVersion('1.0.0', 'oldest').id);
  });
});

it.each([
  ['a misspelt name', { rebalnce: true }],
  ['a value that is not a boolean', { rebalance: 'yes' }],
  ['null', null],
])('every succession rejects %s as its options', (_, options) => {
  const calls = [
    () => Reflect.apply(rendezvous, undefined, [options]),
    () => Reflect.apply(byPriority, undefined, [1, options]),
    () => Reflect.apply(byMemberId, undefined, ['length', byLength, options]),
  ];
  for (const call of calls) expect(call).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
});

describe('rendezvous', () => {
  const elections = Array.from({ length: 10_000 }, (_, i) => `partition-${i}`);
  const members = Array.from({ length: 10 }, (_, i) => `broker-${i}`);

  it('spreads 10,000 elections over 10 members within 10 %', () => {
    const counts = Map.groupBy(elections, (election) => preferred(election, members));
    for (const member of members) {
      expect(counts.get(member)?.length).toBeGreaterThanOrEqual(900);
      expect(counts.get(member)?.length).toBeLessThanOrEqual(1_100);
    }
  });

  it('moves only the elections of a member that has gone, and spreads those evenly', () => {
    const left = members.filter((member) => member !== 'broker-3');
    const moved = elections.filter((election) => preferred(election, members) !== preferred(election, left));
    expect(new Set(moved.map((election) => preferred(election, members)))).toEqual(new Set(['broker-3']));
    expect(moved.length).toBe(elections.filter((election) => preferred(election, members) === 'broker-3').length);
    const successors = Map.groupBy(moved, (election) => preferred(election, left));
    expect(Math.max(...[...successors.values()].map((list) => list.length))).toBeLessThan((moved.length / 9) * 1.4);
  });

  it('moves only to a member that has come', () => {
    const more = [...members, 'broker-10'];
    const moved = elections.filter((election) => preferred(election, members) !== preferred(election, more));
    expect(new Set(moved.map((election) => preferred(election, more)))).toEqual(new Set(['broker-10']));
  });

  it('spreads well for short, long and similar names', () => {
    for (const ids of [
      ['a', 'b', 'c'],
      ['node-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1', 'node-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa2', 'x'],
    ]) {
      const counts = Map.groupBy(elections, (election) => preferred(election, ids));
      for (const id of ids) expect(Math.abs((counts.get(id)?.length ?? 0) - 3_333)).toBeLessThan(333);
    }
  });
});

describe('the name of an entry', () => {
  it('comes back as it was', () => {
    const part = fc.stringMatching(/^[A-Za-z0-9._-]{1,20}$/);
    const name = fc.record({
      memberId: part,
      incarnation: part,
      attempt: fc.nat(),
      succession: part,
      rank: fc.stringMatching(/^[A-Za-z0-9._-]{0,8}$/),
    });
    check(
      fc.property(name, (parts) => {
        expect(readName(writeName(parts))).toEqual(parts);
      }),
    );
  });

  it('may have parts that a later version adds, and none that are missing', () => {
    expect(readName('m~i~1~fifo~~future')).toEqual({ memberId: 'm', incarnation: 'i', attempt: 1, succession: 'fifo', rank: '' });
    for (const name of ['', 'm', 'm~i', 'm~i~1', 'm~i~1~fifo']) expect(readName(name)).toBeUndefined();
  });
});

describe('a queue', () => {
  it('is read in the order of succession, and what is no candidate is left out', () => {
    const queue = [entryOf('c/b~i~1~fifo~'), entryOf('c/stranger'), entryOf('c/a~i~1~fifo~')].map((entry) => entry);
    expect(inSuccession(queue.toReversed(), firstComeFirstServed()).map(({ memberId }) => memberId)).toEqual(['b', 'a']);
  });

  it('that follows another succession refuses whoever comes later, and is not refused by it', () => {
    const [first, second, mine] = [entryOf('c/a~i~1~fifo~'), entryOf('c/x'), entryOf('c/b~i~1~priority~5')];
    expect(() => checkSuccession([first, second, mine], mine, byPriority(5))).toThrow(
      expect.objectContaining({ code: 'SUCCESSION_MISMATCH', details: { theirs: 'fifo', mine: 'priority' } }),
    );
    expect(() => checkSuccession([first, second, mine], first, firstComeFirstServed())).not.toThrow();
  });

  it('tells two orders by member id apart by their ids, however long these are', () => {
    const ids = ['x'.repeat(127), 'x'.repeat(128), `${'x'.repeat(127)}y`];
    expect(new Set(ids.map((id) => byMemberId(id, byLength).id)).size).toBe(3);
  });

  it.each(['', 'a~b', 'a/b'])('has no order of this id: "%s"', (id) => {
    expect(() => byMemberId(id, byLength)).toThrow(expect.objectContaining({ code: 'INVALID_NAME' }));
  });
});

function candidate(memberId: string, rank: string, order: bigint): Candidate {
  return { memberId, incarnation: 'i', rank, order };
}

function preferred(election: string, members: readonly string[]): string {
  const { rank, compare } = rendezvous();
  const queue = members.map((memberId, at) => candidate(memberId, rank({ election, memberId }), BigInt(at)));
  return queue.toSorted(compare)[0]?.memberId ?? '';
}
