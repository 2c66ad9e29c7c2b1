/** One candidate, `me`, behind another: its states, and what may happen to it. */

import { expect, it } from 'vitest';
import { transition } from '../../src/campaign/campaign-machine.ts';
import type { CandidateEvent, CandidateState, Exit } from '../../src/campaign/state.ts';
import { IncumbentError, type Entry } from '../../src/index.ts';
import { readTerm } from '../../src/protocol/record.ts';
import { queued, rules, termOf, type In } from './candidates.ts';

export const [other, me, late] = [queued('other', 1), queued('me', 2), queued('late', 3)];
export const stopped: Exit = { why: 'stopped' };
export const removedExit: Exit = { why: 'removed' };
const error = new IncumbentError('FOREIGN_DATA', 'strange');
export const failedExit: Exit = { why: 'failed', error };
export const orphaned: Exit = { why: 'orphaned', entry: me };

export const joining: In<'joining'> = { phase: 'joining', unknownOutcome: false };
export const looking: In<'looking'> = { phase: 'looking', entry: me, unknownOutcome: false };
export const behind: In<'waiting'> = {
  phase: 'waiting',
  entry: me,
  unknownOutcome: false,
  wait: { for: 'ahead', key: other.key, position: 1, isNextInLine: true },
};
export const forSuccessor: In<'waiting'> = {
  phase: 'waiting',
  entry: me,
  unknownOutcome: false,
  wait: { for: 'successor', key: late.key, term: 4n },
};
export const termThen = termOf(4n, other);
export const claiming: In<'claiming'> = {
  phase: 'claiming',
  entry: me,
  unknownOutcome: false,
  claim: { term: 5n, termEntry: termThen, holder: other.key, evict: [], nobodyAhead: true },
};
export const confirming: In<'confirming'> = { phase: 'confirming', entry: me };
export const withdrawing: In<'withdrawing'> = { phase: 'withdrawing', entry: me, unknownOutcome: false, exit: stopped };
export const elected: In<'elected'> = {
  phase: 'elected',
  won: { term: 5n, entry: me, leaderRevision: 'l', termRevision: 't', previous: { term: 4n, memberId: 'm', reason: 'expired' } },
};
export const out: In<'out'> = { phase: 'out', exit: stopped };

export const unknown: CandidateEvent = { type: 'failed', unknown: true };
export const refused: CandidateEvent = { type: 'failed', unknown: false };
export const stop: CandidateEvent = { type: 'stop' };
export const fatal: CandidateEvent = { type: 'fatal', error };
export const gone: CandidateEvent = { type: 'removed' };
export const paused: CandidateEvent = { type: 'paused' };
export const swapped: CandidateEvent = { type: 'swapped', revisions: ['l', 't', undefined, undefined] };

/** With the term as it was then, unless another, or none, is given. */
export function looked(queue: readonly Entry[] | undefined, ...terms: readonly (Entry | undefined)[]): CandidateEvent {
  return { type: 'looked', queue, termEntry: terms.length === 0 ? termThen : terms[0] };
}

export function read(termEntry?: Entry, leaderEntry?: Entry): CandidateEvent {
  return { type: 'read', termEntry, leaderEntry };
}

export function notSwapped(...failed: readonly (readonly [number, Entry | undefined])[]): CandidateEvent {
  return { type: 'notSwapped', failed: failed.map(([index, current]) => ({ index, current })) };
}

export function pausing(then: CandidateState): CandidateState {
  return { phase: 'pausing', then };
}

export function withdraw(from: Partial<In<'withdrawing'>> = {}): CandidateState {
  return { ...withdrawing, ...from };
}

/** I am gone from the queue: was I elected before that? */
export function confirmGone(exit: Exit): CandidateState {
  return { phase: 'confirming', entry: me, exit, entryGone: true };
}

export type Row = readonly [claim: string, state: CandidateState, event: CandidateEvent, then: CandidateState];

export function table(rows: readonly Row[]): void {
  it.each(rows)('%s', (_, state, event, then) => {
    expect(transition(state, event, rules)).toEqual(then);
  });
}

export function successor(entry: Entry): { reason: string; successor: string } {
  return { reason: 'handover', successor: entry.key };
}

export function wait(what: In<'waiting'>['wait']): CandidateState {
  return { phase: 'waiting', entry: me, unknownOutcome: false, wait: what };
}

export function claim(term: bigint, termEntry: Entry | undefined, evict: readonly Entry[] = [], nobodyAhead = true): In<'claiming'> {
  const record = termEntry === undefined ? undefined : readTerm(termEntry);
  const holder = record?.ended === undefined ? record?.entry : undefined;
  return {
    phase: 'claiming',
    entry: me,
    unknownOutcome: false,
    claim: { term, termEntry: termEntry && expect.objectContaining({ value: termEntry.value }), holder, evict, nobodyAhead },
  };
}
