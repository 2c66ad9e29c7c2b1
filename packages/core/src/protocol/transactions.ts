/** The swaps of an election, as data. Every write by a leader carries the check of its term. */

import type { Change, Entry, Key, LeaseId, Revision } from '../store/contract.ts';
import type { ElectionKeys } from './keys.ts';
import {
  type LeaderRecord,
  markCandidate,
  type Payload,
  readCandidate,
  readLeader,
  readTerm,
  type TermEnd,
  tryRead,
  writeLeader,
  writeTerm,
} from './record.ts';
import { termAfter } from './terms.ts';

/** Who does it. */
export interface Self {
  readonly memberId: string;
  readonly incarnation: string;
}

/** The swap that makes a leader, as data. */
export interface Claim {
  readonly term: bigint;
  /** The term's key as it was read; undefined: no term was ever issued. */
  readonly termEntry: Entry | undefined;
  /** The last holder's entry, which must be gone; undefined where its term was ended on purpose, and the entry deleted with it. */
  readonly holder: Key | undefined;
  /** Candidates ahead that did not claim in time, to be removed in the same swap. */
  readonly evict: readonly Entry[];
  /** Whether nobody is ahead once that is done, as far as is known. */
  readonly first: boolean;
}

export interface Won {
  readonly term: bigint;
  readonly entry: Entry;
  readonly leaderRevision: Revision;
  readonly termRevision: Revision;
  /** The term's record as it was written, or read, at that revision; absent where that is not known. */
  readonly termValue?: Uint8Array | undefined;
}

/** `leader` absent → mine; `term` n → n+1; my entry there; the last holder's gone. The order is `claimPart`'s. */
export function claimChanges(keys: ElectionKeys, self: Self, entry: Entry, claim: Claim, payload: Payload, lease: LeaseId): Change[] {
  const { term, termEntry, holder, evict, first } = claim;
  const before = termEntry === undefined ? undefined : readTerm(termEntry);
  const record = { term, ...self, entry: entry.key };
  const changes: Change[] = [
    { key: keys.leader, expect: null, put: writeLeader({ ...record, payload }), lease },
    { key: keys.term, expect: termEntry?.revision ?? null, put: writeTerm({ ...record, first }, before), lease: null },
    { key: entry.key, expect: entry.revision },
  ];
  if (holder !== undefined) changes.push({ key: holder, expect: null });
  for (const other of evict) changes.push({ key: other.key, expect: other.revision, delete: true });
  return changes;
}

export interface Handover {
  readonly keys: ElectionKeys;
  /** What of my term is in the store, as just read: all of it. */
  readonly leader: Entry;
  readonly term: Entry;
  readonly entry: Entry;
  readonly heir: { readonly entry: Entry; readonly self: Self; readonly first: boolean };
}

/** In one swap: my term ends, the heir's begins under the heir's own lease; the leader's key is never absent. */
export function handoverInOne(handover: Handover, lease: LeaseId): Change[] {
  const { keys, leader, term: mine, heir } = handover;
  const { payload, termFloor } = readCandidate(heir.entry);
  const before = readTerm(mine);
  const term = termAfter(before.term > termFloor ? before.term : termFloor);
  const record: LeaderRecord = { term, ...heir.self, entry: heir.entry.key, payload };
  return [
    { key: keys.leader, expect: leader.revision, put: writeLeader(record), lease },
    { key: keys.term, expect: mine.revision, put: writeTerm({ term, ...heir.self, entry: heir.entry.key, first: heir.first }, before) },
    ...leave(handover, term),
  ];
}

/** In two steps: my term ends and names the heir, which then claims, while the others hold back. */
export function handoverInTwo(handover: Handover): Change[] {
  const { keys, leader, term: mine, heir } = handover;
  const before = readTerm(mine);
  const ended: TermEnd = { reason: 'handover', heir: heir.entry.key, first: heir.first };
  return [
    { key: keys.leader, expect: leader.revision, delete: true },
    { key: keys.term, expect: mine.revision, put: writeTerm({ ...before, ended }, before) },
    ...leave(handover, before.term),
  ];
}

/** The heir's entry is marked, for the heir to see; mine goes. The mark first: stores that tell of changes in their order spare the heir a look. */
function leave({ entry, heir }: Handover, term: bigint): Change[] {
  return [
    { key: heir.entry.key, expect: heir.entry.revision, put: markCandidate(heir.entry, term) },
    { key: entry.key, expect: entry.revision, delete: true },
  ];
}

/** What of a candidacy is still in the store. */
export interface Remains {
  readonly leader: Entry | undefined;
  readonly term: Entry | undefined;
  readonly entry: Entry | undefined;
}

/**
 * What takes the rest of a term out of the store and writes down how it ended; empty when nothing is left. What is no longer mine is left
 * alone. The record goes only together with a check of the term as it was read: where revisions restart, the record's own proves nothing.
 */
export function releaseChanges(keys: ElectionKeys, mark: Key, remains: Remains, ended: TermEnd): Change[] {
  const { leader, term, entry } = remains;
  const mine = isMarked(leader, mark) ? leader : undefined;
  if (mine === undefined && entry === undefined) return [];
  const changes: Change[] = term === undefined ? [] : [endTerm(keys.term, term, mark, ended)];
  if (mine !== undefined) changes.push({ key: keys.leader, expect: mine.revision, delete: true });
  if (entry !== undefined) changes.push({ key: mark, expect: entry.revision, delete: true });
  return changes;
}

/** Whether it is the record of this candidacy. One that cannot be read is not. */
export function isMarked(leader: Entry | undefined, mark: Key): boolean {
  return tryRead(readLeader, leader)?.entry === mark;
}

/** Whether it is the record of this candidacy's term, which stands. One that cannot be read is not. */
export function isTermOf(term: Entry | undefined, mark: Key): boolean {
  const record = tryRead(readTerm, term);
  return record?.entry === mark && record.ended === undefined;
}

/** Whether this is the record of that candidacy's term, which it has given up: on purpose, and to nobody. One that cannot be read is not. */
export function isGivenUp(term: Entry | undefined, mark: Key): boolean {
  const record = tryRead(readTerm, term);
  return record?.entry === mark && record.ended !== undefined && record.ended.heir === undefined;
}

/** My term is written down as ended; a later one, or one that has ended already, is only checked. */
function endTerm(key: Key, term: Entry, mark: Key, ended: TermEnd): Change {
  const record = tryRead(readTerm, term);
  if (record?.entry !== mark || record.ended !== undefined) return { key, expect: term.revision };
  return { key, expect: term.revision, put: writeTerm({ ...record, ended }, record) };
}
