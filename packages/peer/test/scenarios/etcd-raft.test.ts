/**
 * Scenarios of votes from the tests of etcd-io/raft (raft_test.go, raft_paper_test.go,
 * node_test.go), written anew.
 */

import { describe, expect, it } from 'vitest';
import type { QuorumMessage } from '../../src/index.ts';
import { ELECTION_MS, Nodes } from './nodes.ts';

const HERE = { lastTerm: 0n, lastIndex: 0n };
const ask = (term: bigint, position = HERE): QuorumMessage => ({ type: 'vote', term, position, byHandover: false });
const poll = (term: bigint, position = HERE): QuorumMessage => ({ type: 'preVote', term, poll: 1, position });

/** Node 1 leads, and its heartbeats arrive. */
function led(count = 3): Nodes {
  const nodes = new Nodes(count).campaign('1').stabilize();
  expect(nodes.leaders).toEqual(['1 1']);
  nodes.facts();
  return nodes;
}

describe('an election', () => {
  const rows: readonly (readonly [nodes: number, dead: readonly string[], is: string])[] = [
    [3, [], 'leader 1'],
    [3, ['2'], 'leader 1'],
    // In etcd-io/raft these are candidates in term 1. Here a pre-vote comes first, as in their own
    // rows with pre-votes.
    [3, ['2', '3'], 'pre-candidate 0'],
    [4, ['2', '3'], 'pre-candidate 0'],
    [5, ['2', '3'], 'leader 1'],
  ];
  it.each(rows)('D09 of %i nodes of which %j are dead (etcd-io/raft TestLeaderElection, TestLeaderElectionPreVote)', (count, dead, is) => {
    const nodes = new Nodes(count)
      .kill(...dead)
      .campaign('1')
      .stabilize();
    expect(nodes.is('1')).toBe(is);
  });

  it('D09 of three whose others have longer logs: none of them would (etcd-io/raft TestLeaderElection)', () => {
    const nodes = new Nodes(3).log('2', 1n, 1n).log('3', 1n, 1n).campaign('1').stabilize();
    expect(nodes.facts()).toEqual(expect.arrayContaining(['2 would not 1', '3 would not 1']));
    expect(nodes.leaders).toEqual([]);
  });

  const answers: readonly (readonly [nodes: number, votes: Readonly<Record<string, boolean>>, wins: boolean])[] = [
    [1, {}, true],
    [3, { 2: true, 3: true }, true],
    [3, { 2: true }, true],
    [5, { 2: true, 3: true, 4: true, 5: true }, true],
    [5, { 2: true, 3: true, 4: true }, true],
    [5, { 2: true, 3: true }, true],
    [3, { 2: false, 3: false }, false],
    [5, { 2: false, 3: false, 4: false, 5: false }, false],
    [5, { 2: true, 3: false, 4: false, 5: false }, false],
    [3, {}, false],
    [5, { 2: true }, false],
    [5, { 2: false, 3: false }, false],
    [5, {}, false],
  ];
  // In etcd-io/raft, a candidate that a majority refuses becomes a follower at once. Here it waits
  // for its timeout. In both cases it neither leads nor asks again before.
  it.each(answers)(
    'D10 of %i nodes in one round, by the votes %j: elected %s (etcd-io/raft TestLeaderElectionInOneRoundRPC)',
    (count, votes, wins) => {
      const nodes = new Nodes(count).campaign('1');
      for (const id of Object.keys(votes).length === 0 ? [] : ['2', '3', '4', '5'].slice(0, count - 1))
        nodes.hears('1', id, { type: 'preVoteAnswer', term: 0n, poll: 1, granted: true });
      nodes.drop();
      for (const [id, granted] of Object.entries(votes)) nodes.hears('1', id, { type: 'voteAnswer', term: 1n, granted });
      expect(nodes.is('1').startsWith('leader')).toBe(wins);
      expect(nodes.waiting.some(({ message }) => message.type === 'vote' || message.type === 'preVote')).toBe(false);
    },
  );

  it('D13 of two that duel across a cut: one leads, and after the heal one leads still (etcd-io/raft TestDuelingCandidates, TestDuelingPreCandidates)', () => {
    const nodes = new Nodes(3).cut('1', '3').campaign('1').stabilize().campaign('3').stabilize();
    expect(nodes.is('1')).toBe('leader 1');
    // Node 2 refuses, and informs node 3 of its term.
    expect(nodes.is('3')).toBe('follower 1');
    nodes.heal().campaign('3').stabilize();
    expect(nodes.leaders).toEqual(['1 1']);
    nodes.tick('1', 400).stabilize();
    expect(['1', '2', '3'].map((id) => nodes.is(id))).toEqual(['leader 1', 'follower 1', 'follower 1']);
  });

  it('D15 makes each node leader in its turn (etcd-io/raft TestLeaderCycle, TestLeaderCyclePreVote)', () => {
    const nodes = new Nodes(3);
    for (const [i, id] of ['1', '2', '3', '1'].entries()) {
      nodes.lapse().tick('1', 100).tick('2', 100).tick('3', 100).drop().campaign(id).stabilize();
      expect(nodes.leaders).toEqual([`${id} ${i + 1}`]);
    }
  });

  it('D20 timeouts are spread over the whole range, and two seldom meet (etcd-io/raft …ElectionTimeoutRandomized, …ElectionTimeoutNonconflict)', () => {
    const nodes = new Nodes(5);
    const drawn = (id: string): number => {
      const { algorithm } = nodes;
      const node = nodes.of(id);
      const now = { monotonicMs: node.nowMs, wallMs: node.nowMs };
      const input = { type: 'message', from: id === '1' ? '2' : '1', message: { type: 'heartbeat', term: 1n, round: 1 } } as const;
      const { state } = algorithm.step(node.state, { ...input, now, position: HERE });
      node.state = state;
      return state.electionAtMs - node.nowMs;
    };
    const rounds = Array.from({ length: 1_000 }, () => ['1', '2', '3', '4', '5'].map(drawn));
    const all = rounds.flat();
    expect(Math.min(...all)).toBeGreaterThanOrEqual(ELECTION_MS);
    expect(Math.max(...all)).toBeLessThan(2 * ELECTION_MS);
    const tenths = Map.groupBy(all, (ms) => Math.floor((ms - ELECTION_MS) / 100));
    expect([...tenths.values()].every(({ length }) => length > 400 && length < 600)).toBe(true);
    // In ticks of a tenth, as in etcd-io/raft: the first two draw the same timeout.
    const conflicts = rounds.filter((round) => {
      const [one = 0, other = 0] = round.map((ms) => Math.floor(ms / 100)).toSorted((a, b) => a - b);
      return one === other;
    });
    expect(conflicts.length / rounds.length).toBeLessThan(0.3);
  });
});

describe('a request for a vote', () => {
  const none = undefined;
  const rows: readonly (readonly [state: string, index: bigint, logTerm: bigint, votedFor: string | undefined, rejected: boolean])[] = [
    ...[0n, 1n, 2n].map((logTerm) => ['follower', 0n, logTerm, none, true] as const),
    ['follower', 0n, 3n, none, false],
    ...[0n, 1n, 2n].map((logTerm) => ['follower', 1n, logTerm, none, true] as const),
    ['follower', 1n, 3n, none, false],
    ...[2n, 3n].flatMap((index) => [0n, 1n, 2n, 3n].map((logTerm) => ['follower', index, logTerm, none, logTerm < 2n] as const)),
    ['follower', 3n, 2n, '2', false],
    ['follower', 3n, 2n, '1', true],
    ['leader', 3n, 3n, '1', true],
    ['pre-candidate', 3n, 3n, '1', true],
    ['candidate', 3n, 3n, '1', true],
  ];
  it.each(rows)(
    'D12 to a %s, with a log to %i in term %i, voted for %s: rejected %s (etcd-io/raft TestRecvMsgVote)',
    (kind, index, logTerm, votedFor, rejected) => {
      const term = kind === 'follower' ? 3n : 4n;
      const nodes = new Nodes(3, { 1: { term: 3n, votedFor } }).log('1', 2n, 2n);
      if (kind !== 'follower') nodes.campaign('1').drop();
      if (kind === 'candidate' || kind === 'leader') nodes.hears('1', '3', { type: 'preVoteAnswer', term: 3n, poll: 1, granted: true });
      if (kind === 'leader') nodes.hears('1', '3', { type: 'voteAnswer', term: 4n, granted: true });
      expect(nodes.is('1').split(' ')[0]).toBe(kind);
      // A pre-candidate has not voted in the term for which it asks. Its last vote counts.
      const asked = kind === 'pre-candidate' ? 3n : term;
      nodes.drop().facts();
      nodes.hears('1', '2', ask(asked, { lastTerm: logTerm, lastIndex: index }));
      expect(nodes.facts().filter((fact) => /casts|refuses/.test(fact))).toEqual([`1 ${rejected ? 'refuses' : 'casts'} 2 ${asked}`]);
    },
  );

  it('D16 in a newer term is granted in any state, if no leader is heard; a pre-vote changes nothing (etcd-io/raft TestVoteFromAnyState, TestPreVoteFromAnyState)', () => {
    const states: Readonly<Record<string, (nodes: Nodes) => unknown>> = {
      follower: () => {},
      'pre-candidate': (nodes) => nodes.campaign('1'),
      candidate: (nodes) => nodes.campaign('1').hears('1', '2', { type: 'preVoteAnswer', term: 0n, poll: 1, granted: true }),
    };
    for (const [kind, bring] of Object.entries(states)) {
      const nodes = new Nodes(3);
      bring(nodes);
      const was = nodes.is('1');
      expect(was).toContain(kind);
      nodes.facts();
      nodes.hears('1', '3', poll(BigInt(was.split(' ')[1]!)));
      expect([nodes.is('1'), nodes.facts()]).toEqual([was, ['1 would 3']]);
      nodes.hears('1', '3', ask(9n));
      expect([nodes.is('1'), nodes.of('1').kept]).toMatchObject(['follower 9', { memberId: '1', term: 9n, votedFor: '3' }]);
    }
    // In etcd-io/raft, a leader grants this too. Here it keeps its lease, as etcd-io/raft does with
    // check quorum.
    const nodes = led().hears('1', '3', ask(9n));
    expect([nodes.is('1'), nodes.facts()]).toEqual(['leader 1', ['1 refuses 3 1']]);
    expect(nodes.tick('1').hears('1', '3', ask(9n)).is('1')).toBe('follower 9');
  });
});

describe('an older term', () => {
  it('D14 moves nobody: a candidate concedes to the leader of its term, and old messages are answered with the newer one (etcd-io/raft TestCandidateConcede, TestOldMessages, TestStepIgnoreOldTermMsg)', () => {
    const nodes = new Nodes(3).campaign('1').stabilize().lapse().tick('1', 100).drop().campaign('2').stabilize();
    expect(nodes.leaders).toEqual(['2 2']);
    const before = ['1', '2', '3'].map((id) => nodes.is(id));
    const old: readonly QuorumMessage[] = [
      { type: 'heartbeat', term: 1n, round: 99 },
      { type: 'heartbeatAnswer', term: 1n, round: 99, position: HERE, standing: true },
      ask(1n),
      poll(1n),
      { type: 'voteAnswer', term: 1n, granted: true },
      { type: 'preVoteAnswer', term: 1n, poll: 1, granted: true },
      { type: 'handover', term: 1n },
      { type: 'resigned', term: 1n },
    ];
    for (const id of ['1', '2', '3']) for (const message of old) nodes.hears(id, id === '1' ? '3' : '1', message);
    expect(['1', '2', '3'].map((id) => nodes.is(id))).toEqual(before);
    const answers = nodes.waiting.map(({ message }) => message);
    expect(answers.every(({ type, term }) => type === 'stale' && term === 2n)).toBe(true);
    expect(answers).toHaveLength(3 * 5);
    const one = new Nodes(3).campaign('1').hears('1', '2', { type: 'preVoteAnswer', term: 0n, poll: 1, granted: true });
    expect(one.is('1')).toBe('candidate 1');
    expect(one.hears('1', '2', { type: 'heartbeat', term: 1n, round: 1 }).is('1')).toBe('follower 1');
  });
});

describe('a leader', () => {
  it('D18 is not superseded while it is heard, and steps down when a majority is silent (etcd-io/raft TestLeaderSupersedingWithCheckQuorum, TestLeaderStepdownWhenQuorumLost, TestLeaderStepdownWhenQuorumActive)', () => {
    const nodes = led().campaign('3').stabilize();
    expect(nodes.leaders).toEqual(['1 1']);
    for (let i = 0; i < 20; i += 1) nodes.tick('1', 200).stabilize();
    expect(nodes.leaders).toEqual(['1 1']);
    nodes.kill('2', '3').tick('1').drop();
    expect([nodes.leaders, nodes.is('1')]).toEqual([[], 'follower 1']);
    const superseded = led().lapse('2', '3').campaign('3').stabilize();
    expect(superseded.leaders).toEqual(['3 2']);
  });

  it('D19 hands over to whom it is told, if that one is up to date and answers; not to itself, an unknown or a slow one (etcd-io/raft TestLeaderTransferToUpToDateNode, …ToSelf, …ToNonExistingNode, …ToSlowFollower, …Back, …SecondTransferToAnotherNode)', () => {
    const nodes = led();
    for (const to of ['1', '9']) expect(nodes.transfer('1', to)).toBe(false);
    expect(nodes.leaders).toEqual(['1 1']);
    nodes.log('1', 1n, 5n).log('2', 1n, 5n).log('3', 1n, 4n).tick('1', 200).stabilize();
    expect(nodes.transfer('1', '3')).toBe(false);
    expect(nodes.leaders).toEqual(['1 1']);
    expect(nodes.transfer('1', '2')).toBe(true);
    expect(nodes.isValid('1')).toBe(false);
    expect(nodes.stabilize().leaders).toEqual(['2 2']);
    nodes.log('3', 1n, 5n).campaign('1').tick('2', 200).stabilize();
    expect(nodes.transfer('2', '1')).toBe(true);
    // A second request comes too late, because the node no longer leads. (In etcd-io/raft, the
    // later of two requests wins.)
    expect(nodes.transfer('2', '3')).toBe(false);
    expect(nodes.stabilize().leaders).toEqual(['1 3']);
  });

  it('D19 whose successor does not receive it is followed by another leader; a successor that receives it late meets a newer term (etcd-io/raft TestLeaderTransferTimeout, TestLeaderTransferReceiveHigherTermVote)', () => {
    const nodes = led();
    expect(nodes.transfer('1', '3')).toBe(true);
    const late = nodes.waiting.find(({ message }) => message.type === 'handover');
    expect(nodes.drop().leaders).toEqual([]);
    expect(nodes.lapse().campaign('2').stabilize().leaders).toEqual(['2 2']);
    nodes.facts();
    nodes.hears('3', late!.from, late!.message);
    expect([nodes.leaders, nodes.facts()]).toEqual([['2 2'], []]);
  });
});

describe('a restart', () => {
  it('D21 brings term and vote back from the disk, and promotes nobody (etcd-io/raft TestNodeRestart, TestRawNodeRestart)', () => {
    const nodes = new Nodes(3, { 1: { term: 5n, votedFor: '2' } });
    expect([nodes.is('1'), nodes.waiting, nodes.facts()]).toEqual(['follower 5', [], []]);
    expect(nodes.hears('1', '3', ask(5n)).facts()).toEqual(['1 refuses 3 5']);
    expect(nodes.hears('1', '2', ask(5n)).facts()).toEqual(['1 casts 2 5']);
  });
});
