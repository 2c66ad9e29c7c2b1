/** The swaps of an election, as data. Every write by a leader carries the check of its term. */

import type { Change, Entry, Key, LeaseId, Revision } from '../store/contract.ts';
import type { ElectionKeys } from './keys.ts';
import {
  type LeaderRecord,
  writeHandoverTerm,
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
export interface MemberIdentity {
  readonly memberId: string;
  readonly incarnation: string;
}

/** The swap that makes a leader, as data. */
export interface Claim {
  readonly term: bigint;
  /** The term's key as it was read; undefined: no term was ever issued. */
  readonly termEntry: Entry | undefined;
  /**
   * The last holder's entry, which must be gone; undefined where its term was ended on purpose, and
   * the entry deleted with it.
   */
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
  /**
   * The term's record as it was written, or read, at that revision; absent where that is not known.
   */
  readonly termValue?: Uint8Array | undefined;
}

/**
 * `leader` absent → mine; `term` n → n+1; my entry there; the last holder's gone. The order is
 * `claimPart`'s.
 */
export function claimChanges(
  keys: ElectionKeys,
  self: MemberIdentity,
  entry: Entry,
  claim: Claim,
  payload: Payload,
  lease: LeaseId,
): Change[] {
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
  readonly successor: { readonly entry: Entry; readonly self: MemberIdentity; readonly first: boolean };
}

/**
 * In one swap: my term ends, the successor's begins under the successor's own lease; the leader's
 * key is never absent.
 */
export function handoverInOne(handover: Handover, lease: LeaseId): Change[] {
  const { keys, leader, term: mine, successor } = handover;
  const { payload, termFloor } = readCandidate(successor.entry);
  const before = readTerm(mine);
  const term = termAfter(before.term > termFloor ? before.term : termFloor);
  const record: LeaderRecord = { term, ...successor.self, entry: successor.entry.key, payload };
  return [
    { key: keys.leader, expect: leader.revision, put: writeLeader(record), lease },
    {
      key: keys.term,
      expect: mine.revision,
      put: writeTerm({ term, ...successor.self, entry: successor.entry.key, first: successor.first }, before),
    },
    ...leave(handover, term),
  ];
}

/**
 * In two steps: my term ends and names the successor, which then claims, while the others hold
 * back.
 */
export function handoverInTwo(handover: Handover): Change[] {
  const { keys, leader, term: mine, successor } = handover;
  const before = readTerm(mine);
  const ended: TermEnd = { reason: 'handover', successor: successor.entry.key, first: successor.first };
  return [
    { key: keys.leader, expect: leader.revision, delete: true },
    { key: keys.term, expect: mine.revision, put: writeTerm({ ...before, ended }, before) },
    ...leave(handover, before.term),
  ];
}

/**
 * Names the successor in its entry, and deletes mine. In this order, a store that reports changes
 * in their order saves the successor a read.
 */
function leave({ entry, successor }: Handover, term: bigint): Change[] {
  return [
    { key: successor.entry.key, expect: successor.entry.revision, put: writeHandoverTerm(successor.entry, term) },
    { key: entry.key, expect: entry.revision, delete: true },
  ];
}

/** What of a campaign is still in the store. */
export interface Remains {
  readonly leader: Entry | undefined;
  readonly term: Entry | undefined;
  readonly entry: Entry | undefined;
}

/**
 * What takes the rest of a term out of the store and writes down how it ended; empty when nothing
 * is left. What is no longer mine is left alone. The record goes only together with a check of the
 * term as it was read: where revisions restart, the record's own proves nothing.
 */
export function releaseChanges(keys: ElectionKeys, entryKey: Key, remains: Remains, ended: TermEnd): Change[] {
  const { leader, term, entry } = remains;
  const mine = isRecordOf(leader, entryKey) ? leader : undefined;
  if (mine === undefined && entry === undefined) return [];
  const changes: Change[] = term === undefined ? [] : [endTerm(keys.term, term, entryKey, ended)];
  if (mine !== undefined) changes.push({ key: keys.leader, expect: mine.revision, delete: true });
  if (entry !== undefined) changes.push({ key: entryKey, expect: entry.revision, delete: true });
  return changes;
}

/** Whether it is the record of this campaign. One that cannot be read is not. */
export function isRecordOf(leader: Entry | undefined, entryKey: Key): boolean {
  return tryRead(readLeader, leader)?.entry === entryKey;
}

/**
 * Whether it is the record of this campaign's term, which stands. One that cannot be read is not.
 */
export function isTermOf(term: Entry | undefined, entryKey: Key): boolean {
  const record = tryRead(readTerm, term);
  return record?.entry === entryKey && record.ended === undefined;
}

/**
 * Whether this is the record of that campaign's term, which it has given up: on purpose, and to
 * nobody. One that cannot be read is not.
 */
export function isGivenUp(term: Entry | undefined, entryKey: Key): boolean {
  const record = tryRead(readTerm, term);
  return record?.entry === entryKey && record.ended !== undefined && record.ended.successor === undefined;
}

/**
 * My term is written down as ended; a later one, or one that has ended already, is only checked.
 */
function endTerm(key: Key, term: Entry, entryKey: Key, ended: TermEnd): Change {
  const record = tryRead(readTerm, term);
  if (record?.entry !== entryKey || record.ended !== undefined) return { key, expect: term.revision };
  return { key, expect: term.revision, put: writeTerm({ ...record, ended }, record) };
}
