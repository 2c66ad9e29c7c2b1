import { describe, expect, it } from 'vitest';
import type { Change, Entry } from '../../src/index.ts';
import { readElected } from '../../src/protocol/mark.ts';
import { readCandidate, readLeader, readTerm, writeCandidate, writeLowered } from '../../src/protocol/record.ts';
import {
  type Claim,
  claimChanges,
  type Handover,
  handoverInOne,
  handoverInTwo,
  isRecordOf,
  releaseChanges,
  remainingLeader,
} from '../../src/protocol/transactions.ts';
import { keys, leaderOf, queued, termOf } from '../support/candidates.ts';
import { entryOf } from '../support/entries.ts';

const self = { memberId: 'me', incarnation: 'i' };
const [me, other, late] = [queued('me', 1), queued('other', 2), queued('late', 3)];

/** What a change would write, as an entry. */
function written(change: Change | undefined): Entry {
  expect(change !== undefined && 'put' in change).toBe(true);
  return entryOf(change?.key ?? '', change !== undefined && 'put' in change ? change.put : undefined);
}

function kinds(changes: readonly Change[]): readonly string[] {
  return changes.map((change) => `${'put' in change ? 'put' : 'delete' in change ? 'delete' : 'check'} ${change.key} at ${change.expect}`);
}

describe('a claim', () => {
  const term = entryOf(keys.term, {
    v: 1,
    term: '4',
    memberId: 'x',
    incarnation: 'i',
    entry: late.key,
    future: true,
    ended: { reason: 'resigned' },
  });
  const claim: Claim = { term: 5n, termEntry: term, holder: late.key, evict: [other], nobodyAhead: true };
  const changes = claimChanges(keys, self, me, claim, { json: 1 }, 'lease-me');

  it('is one swap of everything that makes a leader, each part where the reader of a refusal looks for it', () => {
    expect(kinds(changes)).toEqual([
      `put ${keys.leader} at null`,
      `put ${keys.term} at ${term.revision}`,
      `check ${me.key} at ${me.revision}`,
      `check ${late.key} at null`,
      `delete ${other.key} at ${other.revision}`,
    ]);
  });

  it("binds the record to the candidate's lease, and the term to none", () => {
    expect(changes.map((change) => ('lease' in change ? change.lease : undefined))).toEqual([
      'lease-me',
      null,
      undefined,
      undefined,
      undefined,
    ]);
  });

  it('writes the same term in both, and keeps what a later version knows of the term', () => {
    const previous = { term: 4n, memberId: 'x', reason: 'resigned' };
    expect(readLeader(written(changes[0]))).toEqual({ term: 5n, ...self, entry: me.key, payload: { json: 1 }, previous });
    const { raw, ...record } = readTerm(written(changes[1]));
    expect(record).toEqual({ term: 5n, ...self, entry: me.key, nobodyAhead: true });
    expect(raw).toMatchObject({ future: true });
  });

  it('of the first term expects that there is none', () => {
    const first = claimChanges(
      keys,
      self,
      me,
      { term: 1n, termEntry: undefined, holder: undefined, evict: [], nobodyAhead: true },
      undefined,
      'l',
    );
    expect(kinds(first)).toEqual([`put ${keys.leader} at null`, `put ${keys.term} at null`, `check ${me.key} at ${me.revision}`]);
  });
});

describe('a handover', () => {
  const leader = { revision: leaderOf(4n, me).revision, entry: me.key };
  const termEntry = entryOf(keys.term, { v: 1, term: '4', ...self, entry: me.key, future: true });
  const successor = { entry: other, memberId: 'other', incarnation: 'j', nobodyAhead: true };
  const handover: Handover = { keys, leader, termEntry, entry: me, successor, reason: 'handover' };

  it('in one swap ends one term and begins the next, under the lease of the successor, which it tells', () => {
    const changes = handoverInOne(handover, 'lease-other');
    expect(kinds(changes)).toEqual([
      `put ${keys.leader} at ${leader.revision}`,
      `put ${keys.term} at ${termEntry.revision}`,
      `put ${other.key} at ${other.revision}`,
      `delete ${me.key} at ${me.revision}`,
    ]);
    expect(changes[0]).toMatchObject({ lease: 'lease-other' });
    expect(readLeader(written(changes[0]))).toMatchObject({ term: 5n, memberId: 'other', incarnation: 'j', entry: other.key });
    expect(readLeader(written(changes[0])).previous).toEqual({ term: 4n, memberId: 'me', reason: 'handover' });
    expect(readTerm(written(changes[1]))).toMatchObject({ term: 5n, memberId: 'other', entry: other.key, raw: { future: true } });
    expect(readElected(readCandidate(written(changes[2])))).toEqual({
      term: 5n,
      previous: { term: 4n, memberId: 'me', reason: 'handover' },
    });
  });

  it("in one swap publishes what the successor wants to publish, above the successor's own floor", () => {
    const value = writeCandidate({ json: 'hello' }, 40n, 30n);
    const changes = handoverInOne({ ...handover, successor: { ...handover.successor, entry: { ...other, value } } }, 'lease-other');
    expect(readLeader(written(changes[0]))).toMatchObject({ term: 41n, payload: { json: 'hello' } });
    expect(readTerm(written(changes[1])).term).toBe(41n);
    expect(readCandidate(written(changes[2]))).toMatchObject({
      handoverTerm: 41n,
      payload: { json: 'hello' },
      termFloor: 40n,
      seenTerm: 30n,
    });
  });

  it('in one swap issues no term that the successor has seen, unless an operator has lowered it', () => {
    const to = (seenTerm: bigint, before = handover.termEntry) => {
      const entry = { ...other, value: writeCandidate(undefined, 0n, seenTerm) };
      const changes = handoverInOne({ ...handover, termEntry: before, successor: { ...handover.successor, entry } }, 'lease-other');
      return readTerm(written(changes[1])).term;
    };
    const lowered = { ...handover.termEntry, value: writeLowered({ ...readTerm(handover.termEntry), term: 90n }, 4n) };
    expect([to(3n), to(40n), to(40n, lowered), to(91n, lowered)]).toEqual([5n, 41n, 5n, 92n]);
  });

  it('in one swap says why the term before has ended', () => {
    const changes = handoverInOne({ ...handover, reason: 'resigned' }, 'lease-other');
    const previous = { term: 4n, memberId: 'me', reason: 'resigned' };
    expect(readLeader(written(changes[0])).previous).toEqual(previous);
    expect(readElected(readCandidate(written(changes[2])))).toEqual({ term: 5n, previous });
  });

  it('in two steps ends the term, names the successor and tells it', () => {
    const changes = handoverInTwo(handover);
    expect(kinds(changes)).toEqual([
      `delete ${keys.leader} at ${leader.revision}`,
      `put ${keys.term} at ${termEntry.revision}`,
      `put ${other.key} at ${other.revision}`,
      `delete ${me.key} at ${me.revision}`,
    ]);
    expect(readTerm(written(changes[1]))).toMatchObject({
      term: 4n,
      ...self,
      ended: { reason: 'handover', successor: other.key },
      raw: { future: true },
    });
    expect(readCandidate(written(changes[2])).handoverTerm).toBe(4n);
    expect(readElected(readCandidate(written(changes[2])))).toBeUndefined();
  });
});

describe('a release', () => {
  const termEntry = termOf(4n, me);
  const leader = { revision: leaderOf(4n, me).revision, entry: me.key };
  const others = remainingLeader(leaderOf(5n, other));
  const ended = { reason: 'resigned' };

  it('takes the record, the entry and the term together, and says why', () => {
    const changes = releaseChanges(keys, me.key, { leader, termEntry, entry: me }, ended);
    expect(kinds(changes)).toEqual([
      `put ${keys.term} at ${termEntry.revision}`,
      `delete ${keys.leader} at ${leader.revision}`,
      `delete ${me.key} at ${me.revision}`,
    ]);
    expect(readTerm(written(changes[0]))).toMatchObject({ term: 4n, ended });
  });

  it.each([
    ['nothing where nothing is left', { leader: undefined, termEntry, entry: undefined }, []],
    ["another's record is left alone", { leader: others, termEntry: termOf(5n, other), entry: me }, ['check term', 'delete me']],
    ["another's record, and no entry", { leader: others, termEntry: termOf(5n, other), entry: undefined }, []],
    [
      'a record that cannot be read is left alone',
      { leader: remainingLeader(entryOf(keys.leader, 'hello')), termEntry, entry: me },
      ['put term', 'delete me'],
    ],
    [
      'a term that cannot be read is only checked',
      { leader, termEntry: entryOf(keys.term, 'hello'), entry: me },
      ['check term', 'delete leader', 'delete me'],
    ],
    [
      'a term that has ended is not ended again',
      { leader, termEntry: termOf(4n, me, { reason: 'handover' }), entry: me },
      ['check term', 'delete leader', 'delete me'],
    ],
    ['without a term the record goes nevertheless', { leader, termEntry: undefined, entry: me }, ['delete leader', 'delete me']],
  ])('%s', (_, remains, then) => {
    const short = kinds(releaseChanges(keys, me.key, remains, ended)).map((kind) =>
      kind
        .replace(/ at .*| elections\S*\//g, ' ')
        .replace(/~\S*/, '')
        .trim(),
    );
    expect(short.map((kind) => kind.replace(/\s+/g, ' '))).toEqual(then);
  });
});

it('a record is known by the entry of its campaign, and by nothing else', () => {
  expect(isRecordOf(leaderOf(4n, me), me.key)).toBe(true);
  for (const record of [leaderOf(4n, other), entryOf(keys.leader, 'hello'), undefined]) expect(isRecordOf(record, me.key)).toBe(false);
});
