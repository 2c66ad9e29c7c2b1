/**
 * Scenarios of whole clusters from the test suites of hashicorp/raft, Apache Kafka, Hazelcast,
 * TigerBeetle and Jepsen.
 */

import { seeded } from '@incumbent/core/testing';
import { describe, expect, it } from 'vitest';
import { planOf } from '../quorum/plan.ts';
import { QuorumWorld } from '../quorum/world.ts';
import { Arena, FIVE } from './arena.ts';

const others = (ids: readonly string[], ...of: readonly string[]): readonly string[] => ids.filter((id) => !of.includes(id));

describe('hashicorp/raft', () => {
  it('D22 a leader that is cut off steps down within its lease, and nobody leads; who was heard last is kept (hashicorp/raft LeaderLeaseExpire)', async () => {
    await using arena = new Arena(['a', 'b']).begin();
    const leader = await arena.leader();
    await arena.pass(500);
    arena.network.isolate(leader.memberId);
    const wallMs = arena.clock.wall();
    await arena.pass(1_000);
    expect(arena.validLeaders).toEqual([]);
    const end = await leader.ended;
    expect(end.reason).toBe('deadline');
    expect(wallMs - end.lastVouchedAt).toBeLessThan(400);
    await arena.pass(20_000);
    expect(arena.led).toHaveLength(1);
  });

  it('D23 whoever asks whether it leads is told no once a newer term may exist (hashicorp/raft VerifyLeader, _Single, _Fail, _PartialConnect)', async () => {
    await using single = new Arena(['a']).begin();
    expect((await single.leader()).isValid()).toBe(true);
    await using arena = new Arena(['a', 'b', 'c']).begin();
    const leader = await arena.leader();
    await arena.pass(500);
    // One of two followers is enough for a majority.
    const [first = '', second = ''] = others(arena.ids, leader.memberId);
    arena.between(leader.memberId, first);
    await arena.pass(5_000);
    expect(leader.isValid()).toBe(true);
    arena.between(leader.memberId, second);
    await arena.pass(1_000);
    expect(leader.isValid()).toBe(false);
    const next = await arena.leader();
    expect(next.term).toBeGreaterThan(leader.term);
    expect(() => leader.assertValid()).toThrow(expect.objectContaining({ code: 'LEADERSHIP_ENDED' }));
  });

  it('D24 one that was cut off and joins again does not raise the term (hashicorp/raft PreVoteAvoidElectionWithPartition, PreVoteMixedCluster)', async () => {
    await using arena = new Arena(['a', 'b', 'c']).begin();
    const leader = await arena.leader();
    await arena.pass(500);
    const [away = ''] = others(arena.ids, leader.memberId);
    arena.network.isolate(away);
    await arena.pass(30_000);
    expect(arena.of(away).highestTerm).toBe(leader.term);
    arena.network.heal();
    await arena.pass(10_000);
    expect([leader.isValid(), arena.led.length, arena.sees(away)]).toEqual([true, 1, leader.memberId]);
  });

  it('D26 leadership is handed over by name or to any, and stays where it cannot be (hashicorp/raft LeadershipTransfer…, 14 tests)', async () => {
    await using arena = new Arena(FIVE).begin();
    const first = await arena.leader();
    await arena.pass(500);
    await expect(first.handover(first.memberId)).rejects.toMatchObject({ code: 'NO_SUCH_CANDIDATE' });
    await expect(first.handover('z')).rejects.toMatchObject({ code: 'NO_SUCH_CANDIDATE' });
    expect(first.isValid()).toBe(true);
    const named = others(arena.ids, first.memberId)[2]!;
    await arena.clock.run(first.handover(named));
    const second = await arena.leader();
    expect([second.memberId, second.term]).toEqual([named, first.term + 1n]);
    await arena.pass(500);
    // Two calls at once: the second finds no leadership.
    const once = second.handover();
    await expect(second.handover()).rejects.toMatchObject({ code: 'LEADERSHIP_ENDED' });
    await arena.clock.run(once);
    const third = await arena.leader();
    expect(third.memberId).not.toBe(named);
    await expect(second.handover()).rejects.toMatchObject({ code: 'LEADERSHIP_ENDED' });
    // A member that has not answered lately cannot be the successor.
    await arena.pass(500);
    const [silent = ''] = others(arena.ids, third.memberId);
    arena.between(third.memberId, silent);
    await arena.pass(2_000);
    await expect(third.handover(silent)).rejects.toMatchObject({ code: 'NO_SUCH_CANDIDATE' });
    expect(third.isValid()).toBe(true);
  });

  it('D27 ten partitions of the leader and some others: never two leaders of a term (hashicorp/raft TestRaft_LeaderPartitions)', async () => {
    await using arena = new Arena(FIVE).begin();
    const random = seeded(27);
    for (let i = 0; i < 10; i += 1) {
      const leader = await arena.leader(60_000);
      const rest = others(arena.ids, leader.memberId);
      const side = [leader.memberId, ...rest.filter(() => random.u32() % 2 === 0)];
      arena.split(side, others(arena.ids, ...side));
      await arena.pass(4_000);
      arena.network.heal();
      await arena.pass(5_000);
    }
    expect((await arena.leader()).isValid()).toBe(true);
  });

  it('D28 slow votes, sent or heard: one leader all the same (hashicorp/raft SlowSendVote, SlowRecvVote)', async () => {
    await using arena = new Arena(['a', 'b', 'c']);
    // Each message takes a tenth of a second. So two rounds of votes take half of an election
    // timeout.
    await using slow = new Arena(['a', 'b', 'c'], {}, { latencyMs: 100 });
    for (const one of [arena, slow]) {
      const leader = await one.begin().leader();
      await one.pass(10_000);
      expect([leader.isValid(), one.led.length]).toEqual([true, 1]);
    }
  });
});

describe('Apache Kafka', () => {
  it('D29 one leader for each epoch, and epochs that rise, on every step of 300 simulated clusters, which all come to have a leader (apache/kafka RaftEventSimulationTest)', () => {
    for (let seed = 2_900; seed < 3_200; seed += 1) {
      const { violations, counts } = new QuorumWorld(planOf(seed)).run();
      expect({ seed, violations }).toEqual({ seed, violations: [] });
      expect(counts.get('elected')).toBeGreaterThan(0);
    }
  });

  it('D31 whoever led or stood before its restart votes for nobody else in that epoch, nor leads it again (apache/kafka RejectVotesFromSameEpochAfterResigning…, InitializeAsResigned…FromStateStore)', async () => {
    await using arena = new Arena(['a', 'b', 'c']).begin();
    const leader = await arena.leader();
    await arena.clock.run(arena.of(leader.memberId).close());
    const next = await arena.leader();
    expect(next.term).toBeGreaterThan(leader.term);
    await arena.clock.run(arena.of(next.memberId).close());
    // Both restart with their persisted votes.
    for (const { memberId } of [leader, next]) arena.lead(arena.member(memberId));
    await arena.pass(10_000);
    const last = await arena.leader();
    expect(last.term).toBeGreaterThan(next.term);
  });
});

describe('Hazelcast', () => {
  for (const where of ['majority', 'minority'] as const)
    it(`D32 five are split, and the leader stays with the ${where}; when they come together one leads (hazelcast LocalRaftTest when_leaderStaysIn…DuringSplit_thenItMergesBack)`, async () => {
      await using arena = new Arena(FIVE).begin();
      const leader = await arena.leader();
      await arena.pass(500);
      const rest = others(arena.ids, leader.memberId);
      const side = [leader.memberId, ...rest.slice(0, where === 'majority' ? 2 : 1)];
      const away = others(arena.ids, ...side);
      arena.split(side, away);
      await arena.pass(10_000);
      const now = await arena.leader();
      expect(now === leader).toBe(where === 'majority');
      const small = where === 'majority' ? away : side;
      expect(small.map((id) => arena.sees(id))).toEqual(small.map(() => undefined));
      expect(others(arena.ids, ...small).map((id) => arena.sees(id))).toEqual(others(arena.ids, ...small).map(() => now.memberId));
      arena.network.heal();
      await arena.pass(5_000);
      expect([now.isValid(), new Set(arena.ids.map((id) => arena.sees(id)))]).toEqual([true, new Set([now.memberId])]);
    });

  it('D33 a disruptive follower: its term stays while it is cut off, and the leader stays after the heal (hazelcast LocalRaftTest when_disruptiveFollowerStartsElection…)', async () => {
    await using arena = new Arena(['a', 'b', 'c']).begin();
    const leader = await arena.leader();
    await arena.pass(500);
    const [follower = ''] = others(arena.ids, leader.memberId);
    // The member receives messages of the other follower but not of the leader. The other follower
    // would not vote for it.
    arena.between(leader.memberId, follower);
    await arena.pass(20_000);
    expect([leader.isValid(), arena.of(follower).highestTerm]).toEqual([true, leader.term]);
    arena.network.heal();
    await arena.pass(5_000);
    expect([leader.isValid(), arena.led.length]).toEqual([true, 1]);
  });

  it('D34 a handover to itself, to nobody there is, by a follower, twice, at the same time: a result or an error (hazelcast LeadershipTransferTest)', async () => {
    await using arena = new Arena(['a', 'b', 'c']).begin();
    const leader = await arena.leader();
    await arena.pass(500);
    const [one = '', other = ''] = others(arena.ids, leader.memberId);
    for (const to of [leader.memberId, 'nobody']) await expect(leader.handover(to)).rejects.toMatchObject({ code: 'NO_SUCH_CANDIDATE' });
    // A follower has no leadership to hand over.
    expect([arena.of(one).leadership, arena.of(other).leadership]).toEqual([undefined, undefined]);
    const [first, second] = await arena.clock.run(Promise.allSettled([leader.handover(one), leader.handover(other)]));
    expect([first.status, second.status]).toEqual(['fulfilled', 'rejected']);
    expect((await arena.leader()).memberId).toBe(one);
    await expect(leader.handover(other)).rejects.toMatchObject({ code: 'LEADERSHIP_ENDED' });
  });
});

describe('TigerBeetle', () => {
  it('D36 after a duel of two candidates one leads, and one that is cut off with a higher term locks nobody out (tigerbeetle replica_test, view changes)', async () => {
    await using arena = new Arena(['a', 'b', 'c']).begin();
    const leader = await arena.leader();
    await arena.pass(500);
    const [one = '', other = ''] = others(arena.ids, leader.memberId);
    // Both have lost the leader and cannot reach each other. Both campaign in vain until they can.
    arena.network.isolate(leader.memberId);
    arena.between(one, other);
    await arena.pass(10_000);
    expect(arena.validLeaders).toEqual([]);
    arena.network.heal();
    const next = await arena.leader();
    await arena.pass(2_000);
    // A fence has shown a higher term to this member, which is then cut off and returns.
    next.reportTerm(next.term + 10n);
    arena.network.isolate(next.memberId);
    const third = await arena.leader();
    expect(third.memberId).not.toBe(next.memberId);
    arena.network.heal();
    await arena.pass(10_000);
    const last = await arena.leader();
    expect(last.term).toBeGreaterThan(next.term + 10n);
    await arena.pass(10_000);
    expect(last.isValid()).toBe(true);
  });
});

describe('Jepsen', () => {
  it('F06 a mutex under partitions in which every member sees another majority: no two hold it (jepsen hazelcast lock, majorities-ring)', async () => {
    await using arena = new Arena(FIVE).begin();
    for (let round = 0; round < 6; round += 1) {
      await arena.leader(60_000);
      // In a ring, each member reaches only two neighbours on either side. The ring turns by one
      // position each time.
      const ring = [...FIVE.slice(round % 5), ...FIVE.slice(0, round % 5)];
      for (const [i, id] of ring.entries()) if (round % 2 === 0 || i > 0) arena.between(id, ring[(i + 2) % 5]!);
      await arena.pass(8_000);
      arena.network.heal();
      await arena.pass(4_000);
    }
    expect((await arena.leader()).isValid()).toBe(true);
  });
});
