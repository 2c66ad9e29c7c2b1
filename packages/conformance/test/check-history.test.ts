/** The history checker compares leaderships by time and, at one moment, by order. */

import { checkHistory, type HistoryEvent } from '@incumbent/conformance';
import { describe, expect, it } from 'vitest';

type Term = Pick<Extract<HistoryEvent, { type: 'elected' }>, 'member' | 'term'>;

const older: Term = { member: 'a', term: 1n };
const newer: Term = { member: 'b', term: 2n };
const election = 'e';

function elected(at: number, about: Term): HistoryEvent {
  return { type: 'elected', at, election, ...about };
}

function valid(at: number, about: Term): HistoryEvent {
  return { type: 'valid', at, election, ...about };
}

function ended(at: number, about: Term): HistoryEvent {
  return { type: 'ended', at, election, ...about, reason: 'resigned' };
}

describe('an older leadership', () => {
  const OVERLAP = 'a (e, term 1) was valid at 5, 0 ms after b (e, term 2) was elected';

  it('must not be valid after the next election, not even at the same moment', () => {
    const history = [elected(1, older), elected(5, newer), valid(5, older), ended(6, older), ended(9, newer)];
    expect(checkHistory(history)).toEqual([OVERLAP]);
  });

  it('may be valid, and end, before the next election at the same moment', () => {
    const before = [elected(1, older), valid(5, older), ended(5, older), elected(5, newer), valid(5, newer), ended(9, newer)];
    expect(checkHistory(before)).toEqual([]);
  });

  it('may be reported as ended after the next election', () => {
    const late = [elected(1, older), valid(4, older), elected(5, newer), valid(5, newer), ended(5, older), ended(9, newer)];
    expect(checkHistory(late)).toEqual([]);
  });

  it('may be valid for less than the permitted overlap', () => {
    const history = [elected(1, older), elected(2, newer), valid(5, older), ended(5, older), ended(9, newer)];
    expect(checkHistory(history, { overlapMs: 3.5 })).toEqual([]);
    expect(checkHistory(history, { overlapMs: Infinity })).toEqual([]);
    expect(checkHistory(history, { overlapMs: 3 })).toHaveLength(1);
    expect(checkHistory(history)).toHaveLength(1);
  });
});

describe('a leadership that has ended', () => {
  it('must not be valid afterwards, not even at the same moment', () => {
    expect(checkHistory([elected(1, older), ended(5, older), valid(5, older)])).toEqual(['a (e, term 1) was valid after it had ended']);
    expect(checkHistory([elected(1, older), valid(6, older), ended(5, older)])).toEqual(['a (e, term 1) was valid after it had ended']);
  });

  it('may be valid before its end at the same moment', () => {
    expect(checkHistory([elected(1, older), valid(5, older), ended(5, older)])).toEqual([]);
  });
});
