/** Entries of an election, as a candidate meets them. */

import type { CandidateRules, CandidateState } from '../../src/campaign/state.ts';
import type { Entry } from '../../src/index.ts';
import { electionKeys } from '../../src/protocol/keys.ts';
import { writeCandidate, writeLeader, writeTerm, type TermEnd } from '../../src/protocol/record.ts';
import { writeElected, writeHandoverTerm } from '../../src/protocol/mark.ts';
import { firstComeFirstServed } from '../../src/protocol/succession.ts';
import { entryOf } from './entries.ts';

export const keys = electionKeys('e');
export const rules: CandidateRules = { keys, succession: firstComeFirstServed(), termFloor: 0n, seenTerm: 0n };

/** An entry in the queue. */
export function queued(member: string, order: number): Entry {
  return entryOf(`${keys.candidates}/${member}~i~1~fifo~`, writeCandidate(undefined, 0n, 0n), {
    order: BigInt(order),
    lease: `lease-${member}`,
  });
}

/** The same entry after a handover to it. */
export function named(entry: Entry, term: bigint): Entry {
  return { ...entry, value: writeHandoverTerm(entry, term), revision: `${entry.revision}-handed over` };
}

/** The same entry after a handover in one swap. `previous`: how the term before ended. */
export function electedIn(entry: Entry, term: bigint, revision = `${entry.revision}-elected`): Entry {
  const previous = { term: term - 1n, memberId: 'm', reason: 'handover' };
  return { ...entry, value: writeElected(entry, term, previous), revision };
}

/** The same entry after somebody has changed it without marking it. */
export function touched(entry: Entry): Entry {
  return { ...entry, revision: `${entry.revision}-touched` };
}

/** The term's key: the holder is known by its entry. `first`: nobody went before it. */
export function termOf(term: bigint, holder: Entry, ended?: TermEnd, nobodyAhead = false): Entry {
  const record = { term, memberId: 'm', incarnation: 'i', entry: holder.key, nobodyAhead };
  return entryOf(keys.term, writeTerm(ended === undefined ? record : { ...record, ended }, undefined));
}

/** The leader's key. */
export function leaderOf(term: bigint, holder: Entry): Entry {
  return entryOf(keys.leader, writeLeader({ term, memberId: 'm', incarnation: 'i', entry: holder.key, payload: undefined }));
}

export type In<P extends CandidateState['phase']> = Extract<CandidateState, { phase: P }>;
