/** One member of the quorum algorithm, step by step: its answer to each message. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { quorum, type Input, type Output, type QuorumMessage, type QuorumOptions, type QuorumState, type Vote } from '../src/index.ts';

const MEMBERS = ['a', 'b', 'c'];
const HERE = { lastTerm: 1n, lastIndex: 5n };
const BEHIND = { lastTerm: 1n, lastIndex: 4n };
const AHEAD = { lastTerm: 2n, lastIndex: 0n };
/** A time long after the start, on its own clock. */
const LATER = 10_000;

type Act = { readonly type: 'tick' } | Pick<Extract<Input<QuorumMessage>, { type: 'command' }>, 'type' | 'command'>;

class One {
  readonly algorithm;
  state: QuorumState;
  nowMs = LATER;
  said: { readonly to: string; readonly message: QuorumMessage }[] = [];
  kept: Vote | undefined;
  outputs: readonly Output<QuorumMessage, Vote>[] = [];
  events: string[] = [];

  constructor(durable?: Partial<Vote>, options: Partial<QuorumOptions> = {}, memberId = 'a') {
    this.algorithm = quorum({ members: MEMBERS, ...options });
    const vote = durable === undefined ? undefined : { memberId, term: 0n, votedFor: undefined, ...durable };
    this.state = this.algorithm.start({ memberId, now: { monotonicMs: 0, wallMs: 0 }, seed: 1, durable: vote });
  }

  hears(from: string, message: QuorumMessage): this {
    return this.does({ type: 'message', from, message });
  }

  does(act: Act | { readonly type: 'message'; readonly from: string; readonly message: QuorumMessage }): this {
    const { state, outputs } = this.algorithm.step(this.state, {
      ...act,
      now: { monotonicMs: this.nowMs, wallMs: this.nowMs },
      position: HERE,
    });
    this.state = state;
    this.outputs = outputs;
    this.said = [];
    this.events = [];
    for (const output of outputs) {
      if (output.type === 'send') this.said.push({ to: output.to, message: output.message });
      if (output.type === 'persist') this.kept = output.durable;
      if (output.type === 'event') this.events.push(output.event.type === 'ended' ? output.event.reason : output.event.type);
    }
    return this;
  }

  command(type: 'campaign' | 'withdraw'): this {
    return this.does({ type: 'command', command: { type } });
  }

  after(ms: number): this {
    this.nowMs += ms;
    return this;
  }

  /** The member campaigns and asks for votes. */
  asking(): this {
    this.command('campaign').after(3_000).does({ type: 'tick' });
    return this.hears('b', { type: 'preVoteAnswer', term: this.state.term, poll: this.state.polls, granted: true });
  }

  /** The member leads, and a majority has answered its heartbeats. */
  leading(): this {
    this.asking().hears('b', { type: 'voteAnswer', term: this.state.term, granted: true });
    return this.hears('b', { type: 'heartbeatAnswer', term: this.state.term, round: 1, position: HERE, standing: true });
  }
}

const vote = (term: bigint, position = HERE, byHandover = false): QuorumMessage => ({ type: 'vote', term, position, byHandover });
const preVote = (term: bigint, position = HERE): QuorumMessage => ({ type: 'preVote', term, poll: 1, position });
const answered = (one: One): boolean | undefined => {
  const message = one.said[0]?.message;
  return message !== undefined && 'granted' in message ? message.granted : undefined;
};

describe('a vote', () => {
  it('is given once per term, repeated to the same candidate, and persisted', () => {
    const one = new One();
    expect(answered(one.hears('b', vote(1n)))).toBe(true);
    expect(one.kept).toEqual({ memberId: 'a', term: 1n, votedFor: 'b', members: MEMBERS, promiseMs: 1_000 });
    expect(answered(one.hears('c', vote(1n)))).toBe(false);
    expect(answered(one.hears('b', vote(1n)))).toBe(true);
    expect(answered(one.hears('c', vote(2n)))).toBe(true);
    expect(one.kept).toEqual({ memberId: 'a', term: 2n, votedFor: 'c', members: MEMBERS, promiseMs: 1_000 });
  });

  it('is remembered across a restart', () => {
    expect(answered(new One({ term: 4n, votedFor: 'b' }).hears('c', vote(4n)))).toBe(false);
    expect(answered(new One({ term: 4n, votedFor: 'b' }).hears('b', vote(4n)))).toBe(true);
    expect(answered(new One({ term: 4n, votedFor: undefined }).hears('c', vote(4n)))).toBe(true);
  });

  it('is not given to a candidate whose data are behind, but the request raises the term', () => {
    const one = new One();
    expect(answered(one.hears('b', vote(1n, BEHIND)))).toBe(false);
    expect(one.state.term).toBe(1n);
    expect(answered(one.hears('b', vote(1n, AHEAD)))).toBe(true);
  });

  it('is not given during the longest election timeout after the start', () => {
    const one = new One({ term: 1n });
    one.nowMs = 1_999;
    expect(answered(one.hears('b', vote(2n)))).toBe(false);
    expect(answered(one.hears('b', preVote(1n)))).toBe(false);
    expect(one.state.term).toBe(1n);
    one.nowMs = 2_000;
    expect(answered(one.hears('b', vote(2n)))).toBe(true);
  });

  it('is not given after the start for as long as the saved promise lasts, even if the timeouts are shorter now', () => {
    const one = new One({ term: 1n, promiseMs: 10_000 });
    one.nowMs = 9_999;
    expect(answered(one.hears('b', vote(2n)))).toBe(false);
    one.nowMs = 10_000;
    expect(answered(one.hears('b', vote(2n)))).toBe(true);
    expect(one.kept?.promiseMs).toBe(1_000);
  });

  it('that is saved while an earlier promise may last keeps that promise', () => {
    const one = new One({ term: 1n, promiseMs: 10_000 });
    one.nowMs = 9_000;
    one.hears('b', { type: 'heartbeat', term: 2n, round: 1 });
    expect(one.kept).toMatchObject({ term: 2n, promiseMs: 10_000 });
    const again = new One(one.kept);
    again.nowMs = 9_999;
    expect(answered(again.hears('b', vote(3n)))).toBe(false);
  });

  it.each([
    ['no promise', {}],
    ['a shorter promise', { promiseMs: 500 }],
  ])('that was saved with %s is saved again before the answer to a heartbeat, and not before the next one', (_, saved) => {
    const one = new One({ term: 3n, ...saved }).hears('b', { type: 'heartbeat', term: 3n, round: 1 });
    expect(one.outputs.map(({ type }) => type)).toEqual(['persist', 'send']);
    expect(one.kept).toEqual({ memberId: 'a', term: 3n, votedFor: undefined, members: MEMBERS, promiseMs: 1_000 });
    one.hears('b', { type: 'heartbeat', term: 3n, round: 2 });
    expect(one.outputs.map(({ type }) => type)).toEqual(['send']);
  });

  it('is saved with the promise, so that the first heartbeat of the term needs no write', () => {
    const one = new One().hears('b', vote(1n)).hears('b', { type: 'heartbeat', term: 1n, round: 1 });
    expect(one.outputs.map(({ type }) => type)).toEqual(['send']);
  });

  it('is not given within the shortest election timeout of hearing a leader, and such a request does not raise the term', () => {
    const one = new One().hears('b', { type: 'heartbeat', term: 3n, round: 1 });
    one.after(999);
    expect(answered(one.hears('c', vote(9n)))).toBe(false);
    expect(answered(one.hears('c', preVote(9n)))).toBe(false);
    expect(one.state.term).toBe(3n);
    expect(answered(one.after(1).hears('c', vote(9n)))).toBe(true);
  });

  it('is given within that time after a handover by the leader, but only in the next term', () => {
    const one = new One().hears('b', { type: 'heartbeat', term: 3n, round: 1 });
    expect(one.hears('c', vote(3n, HERE, true)).said).toEqual([{ to: 'c', message: { type: 'voteAnswer', term: 3n, granted: false } }]);
    expect(answered(one.hears('c', vote(4n, HERE, true)))).toBe(true);
  });

  it('of an older term is answered with the newer one', () => {
    const one = new One({ term: 5n });
    for (const message of [vote(4n), vote(4n, HERE, true), preVote(4n)] as const)
      expect(one.hears('b', message).said).toEqual([{ to: 'b', message: { type: 'stale', term: 5n } }]);
  });
});

describe('a candidate', () => {
  it('asks whether it would win before it raises the term', () => {
    const one = new One({ term: 2n }).command('campaign').after(3_000).does({ type: 'tick' });
    expect(one.said.map(({ message }) => message.type)).toEqual(['preVote', 'preVote']);
    expect(one.state.term).toBe(2n);
    one.hears('b', { type: 'preVoteAnswer', term: 2n, poll: 99, granted: true });
    expect(one.state.term).toBe(2n);
    one.hears('b', { type: 'preVoteAnswer', term: 2n, poll: 1, granted: true });
    expect(one.state.term).toBe(3n);
    expect(one.kept).toEqual({ memberId: 'a', term: 3n, votedFor: 'a', members: MEMBERS, promiseMs: 1_000 });
  });

  it('leads by the votes of a majority, each counted once, in its own term', () => {
    const one = new One({}, { members: ['a', 'b', 'c', 'd', 'e'] }).command('campaign').after(3_000).does({ type: 'tick' });
    for (const id of ['b', 'c']) one.hears(id, { type: 'preVoteAnswer', term: 0n, poll: 1, granted: true });
    for (const id of ['b', 'b', 'b']) one.hears(id, { type: 'voteAnswer', term: 1n, granted: true });
    one.hears('c', { type: 'voteAnswer', term: 0n, granted: true }).hears('d', { type: 'voteAnswer', term: 1n, granted: false });
    expect(one.state.role.kind).toBe('voting');
    one.hears('e', { type: 'voteAnswer', term: 1n, granted: true });
    expect(one.state.role.kind).toBe('leading');
  });

  it('that has a better rank refuses its vote, and campaigns itself', () => {
    const rank = { tieBreak: 'highest-rank' } as const;
    const better = new One({}, rank).command('campaign');
    expect(better.hears('b', preVote(0n)).said.map(({ message }) => message.type)).toEqual(['preVoteAnswer', 'preVote', 'preVote']);
    expect(answered(new One({}, rank).command('campaign').hears('b', preVote(0n)))).toBe(false);
    expect(answered(new One({}, rank).command('campaign').hears('b', preVote(0n, AHEAD)))).toBe(true);
    expect(answered(new One({}, rank).hears('b', preVote(0n)))).toBe(true);
    expect(answered(new One({}, rank, 'b').command('campaign').hears('a', preVote(0n)))).toBe(true);
  });

  it('that has a better rank grants its vote after it has refused, polled, and got no majority within an election timeout', () => {
    const one = new One({}, { tieBreak: 'highest-rank' }).command('campaign').after(3_000).does({ type: 'tick' });
    // The poll that was under way may have reached nobody.
    expect(one.hears('b', preVote(0n)).said.map(({ message }) => message.type)).toEqual(['preVoteAnswer', 'preVote', 'preVote']);
    expect(one.hears('b', preVote(0n)).said).toEqual([{ to: 'b', message: { type: 'preVoteAnswer', term: 0n, poll: 1, granted: false } }]);
    one.after(2_000).does({ type: 'tick' });
    expect(one.said.map(({ message }) => message.type)).toEqual(['preVote', 'preVote']);
    expect(answered(one.hears('b', preVote(0n)))).toBe(true);
    expect(answered(one.hears('b', preVote(0n, BEHIND)))).toBe(false);
    // In a new term, this member may win again.
    one.hears('b', { type: 'stale', term: 1n });
    expect(answered(one.hears('b', preVote(1n)))).toBe(false);
  });

  it('follows the leader of its term', () => {
    const one = new One().asking().hears('c', { type: 'heartbeat', term: 1n, round: 1 });
    expect(one.state.role).toEqual({ kind: 'following', leader: 'c' });
  });
});

describe('a leader', () => {
  it('is valid from the sending of the heartbeats that a majority has answered', () => {
    const one = new One().asking().hears('b', { type: 'voteAnswer', term: 1n, granted: true });
    const sentAtMs = one.nowMs;
    expect(one.algorithm.validity(one.state)).toBeUndefined();
    one.after(300).hears('b', { type: 'heartbeatAnswer', term: 1n, round: 1, position: HERE, standing: true });
    expect(one.events).toEqual(['elected']);
    expect(one.algorithm.validity(one.state)).toMatchObject({ term: 1n, from: { monotonicMs: sentAtMs } });
    // The second heartbeat was sent now. A repeated answer to the first one does not extend
    // validity.
    one.does({ type: 'tick' }).after(100).hears('b', { type: 'heartbeatAnswer', term: 1n, round: 1, position: HERE, standing: true });
    expect(one.algorithm.validity(one.state)).toMatchObject({ from: { monotonicMs: sentAtMs } });
  });

  it('is valid for the shortest election timeout minus the margin and the drain, and no longer', () => {
    const one = new One().leading();
    const { forMs, safeForMs, from } = one.algorithm.validity(one.state)!;
    expect(safeForMs).toBeCloseTo(1_000 * (1 - 0.02 / 1.01));
    expect(forMs).toBeCloseTo(safeForMs - 100);
    one.nowMs = from.monotonicMs + Math.ceil(forMs);
    expect(one.does({ type: 'tick' }).events).toEqual(['deadline']);
    expect(one.algorithm.validity(one.state)).toBeUndefined();
  });

  it('steps down at a newer term in any message, except in a vote request that it refuses', () => {
    for (const message of [
      { type: 'stale', term: 7n },
      { type: 'heartbeat', term: 7n, round: 1 },
      { type: 'voteAnswer', term: 7n, granted: false },
      { type: 'handover', term: 7n },
    ] as const) {
      const one = new One().leading().hears('c', message);
      expect(one.events).toEqual(['newerTerm']);
      expect(one.kept).toMatchObject({ term: message.type === 'handover' ? 7n : 7n, votedFor: undefined });
    }
    for (const message of [vote(7n), preVote(7n)])
      expect(new One().leading().hears('c', message).state).toMatchObject({ term: 1n, role: { kind: 'leading' } });
  });

  it('does not announce its end before it has ended', () => {
    const one = new One().leading().does({ type: 'command', command: { type: 'release', to: 'b' } });
    expect(one.said).toEqual([]);
    one.does({ type: 'command', command: { type: 'end', reason: 'handover' } });
    expect(one.said).toEqual([]);
    expect(one.algorithm.validity(one.state)).toBeUndefined();
    one.does({ type: 'command', command: { type: 'release', to: 'b' } });
    expect(one.said).toEqual([{ to: 'b', message: { type: 'handover', term: 1n } }]);
    // Votes that arrive after that are too late.
    one.hears('c', { type: 'voteAnswer', term: 1n, granted: true });
    expect(one.state.role.kind).toBe('following');
  });

  it.each([undefined, 'b'])('announces its end, and the newer term, if it knows one, instead of a handover to %s', (to) => {
    const one = new One().leading().hears('c', { type: 'stale', term: 7n });
    expect(one.said).toEqual([]);
    one.does({ type: 'command', command: { type: 'release', to } });
    const [resigned, stale] = [{ type: 'resigned', term: 1n } as const, { type: 'stale', term: 7n } as const];
    expect(one.said).toEqual([
      { to: 'b', message: resigned },
      { to: 'c', message: resigned },
      { to: 'b', message: stale },
      { to: 'c', message: stale },
    ]);
    const other = new One({ term: 1n }, {}, 'b').command('campaign').hears('a', { type: 'heartbeat', term: 1n, round: 1 });
    other.hears('a', resigned).hears('a', stale).after(200).does({ type: 'tick' });
    expect(other.said.map(({ message }) => message)).toMatchObject([
      { type: 'preVote', term: 7n },
      { type: 'preVote', term: 7n },
    ]);
  });
});

describe('a successor', () => {
  it.each(['constructor', 'toString', '__proto__'])('is not the member "%s" before it has answered', (id) => {
    const one = new One(undefined, { members: ['a', 'b', id] }).leading();
    expect(one.algorithm.successor(one.state, undefined)).toBe('b');
    expect(one.algorithm.successor(one.state, id)).toBeUndefined();
    one.hears(id, { type: 'heartbeatAnswer', term: 1n, round: 1, position: HERE, standing: true });
    expect(one.algorithm.successor(one.state, id)).toBe(id);
  });
});

describe('a handover', () => {
  const handover = (term: bigint): QuorumMessage => ({ type: 'handover', term });

  it('starts a campaign at once, in the next term', () => {
    const one = new One({ term: 3n }).command('campaign').hears('b', { type: 'heartbeat', term: 3n, round: 1 }).hears('b', handover(3n));
    expect(one.said.map(({ message }) => message)).toEqual([vote(4n, HERE, true), vote(4n, HERE, true)]);
    expect(one.kept).toEqual({ memberId: 'a', term: 4n, votedFor: 'a', members: MEMBERS, promiseMs: 1_000 });
  });

  it('of an older term does nothing', () => {
    const one = new One({ term: 4n }).command('campaign').hears('b', handover(3n));
    expect(one.said).toEqual([{ to: 'b', message: { type: 'stale', term: 4n } }]);
    expect(one.state.term).toBe(4n);
  });

  it('does nothing to a member that does not campaign', () => {
    expect(new One({ term: 3n }).hears('b', handover(3n)).said).toEqual([]);
  });
});

describe('untrusted data', () => {
  const { readMessage, readDurable } = quorum({ members: ['a'] });

  it('are a valid message or refused without an error', () => {
    const term = fc.oneof(fc.bigInt({ min: -1n, max: 2n ** 65n }), fc.anything());
    const type = fc.constantFrom(
      'preVote',
      'preVoteAnswer',
      'vote',
      'voteAnswer',
      'heartbeat',
      'heartbeatAnswer',
      'stale',
      'handover',
      'resigned',
      'x',
    );
    const some = { term, type, poll: fc.anything(), round: fc.anything(), granted: fc.anything(), position: fc.anything() };
    fc.assert(
      fc.property(fc.oneof(fc.anything({ withBigInt: true }), fc.record(some, { requiredKeys: [] })), (data) => {
        const message = readMessage(data);
        if (message === undefined) return;
        expect(data).toMatchObject(message);
        // The member must handle the message without an error.
        new One().hears('b', message);
      }),
      { numRuns: 2_000 },
    );
  });

  it('are refused by members with another value of a compared option', () => {
    const of = (options: Partial<QuorumOptions>): string => quorum({ members: MEMBERS, ...options }).configuration;
    const ranked = { tieBreak: 'highest-rank' } as const;
    for (const other of [
      { members: ['a', 'b'] },
      { electionTimeoutMinMs: 900 },
      { electionTimeoutMaxMs: 3_000 },
      { clockErrorRatio: 0.02 },
      ranked,
    ])
      expect(of(other)).not.toBe(of({}));
    for (const same of [{ members: ['c', 'b', 'a'] }, { heartbeatEveryMs: 100 }, { drainMs: 0 }]) expect(of(same)).toBe(of({}));
    expect(of({ ...ranked, members: ['c', 'b', 'a'] })).not.toBe(of(ranked));
  });

  it('are a valid vote or refused with an error', () => {
    const kept = { memberId: 'a', term: 3n, votedFor: undefined };
    expect(readDurable(kept)).toEqual(kept);
    expect(readDurable({ ...kept, members: MEMBERS })).toEqual({ ...kept, members: MEMBERS });
    for (const promiseMs of [50, 1_000.5, 600_000]) expect(readDurable({ ...kept, promiseMs })).toEqual({ ...kept, promiseMs });
    expect(readDurable({ ...kept, fieldOfALaterVersion: 1 })).toEqual(kept);
    for (const data of [
      undefined,
      {},
      { ...kept, term: 3 },
      { ...kept, term: -1n },
      { ...kept, votedFor: 7 },
      { ...kept, members: 'a b' },
      { ...kept, members: ['a', 7] },
      { ...kept, memberId: undefined },
      ...[49, 600_001, -1, NaN, Infinity, null, '1000', 1_000n].map((promiseMs) => ({ ...kept, promiseMs })),
    ])
      expect(() => readDurable(data)).toThrow(expect.objectContaining({ code: 'CORRUPT' }));
  });
});
