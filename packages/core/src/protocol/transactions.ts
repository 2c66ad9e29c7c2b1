/**
 * The swaps of an election, as lists of changes. Every write by a leader checks that its term is
 * still the last one.
 */

import type { Change, Entry, Key, LeaseId, Revision, StoreCapabilities } from '../store/contract.ts';
import type { ElectionKeys } from './keys.ts';
import {
  type Payload,
  type PreviousRecord,
  previousOf,
  readCandidate,
  readLeader,
  readTerm,
  type TermRecord,
  type TermEnd,
  tryRead,
  writeLeader,
  writeTerm,
} from './record.ts';
import type { Successor } from './succession.ts';
import { readElected, writeElected, writeHandoverTerm } from './mark.ts';
import { highestTerm, termAfter } from './terms.ts';

/** The identity of the member that makes a swap. */
export interface MemberIdentity {
  readonly memberId: string;
  readonly incarnation: string;
}

/**
 * The last term issued, as far as a member knows that has read `record`, and whose highest seen
 * term is `seen`. A lower term in `record` counts only if an operator has lowered the terms from
 * `seen` or a higher term.
 */
export function lastIssued(record: TermRecord | undefined, seen: bigint): bigint {
  if (record === undefined) return seen;
  const wasLowered = record.loweredFrom !== undefined && seen <= record.loweredFrom;
  return wasLowered ? record.term : highestTerm(record.term, seen);
}

/** The facts of a claim: the swap by which a candidate becomes the leader. */
export interface Claim {
  /** The term to issue. */
  readonly term: bigint;
  /** The key `term` as it was read. Undefined if no term was ever issued. */
  readonly termEntry: Entry | undefined;
  /**
   * The entry of the last holder, which must be absent. Undefined if the term has `ended`: the swap
   * that wrote `ended` deleted the entry.
   */
  readonly holder: Key | undefined;
  /** Candidates ahead that did not claim in time. The same swap deletes their entries. */
  readonly evict: readonly Entry[];
  /** True if no other candidate is ahead after the swap, as far as this candidate knows. */
  readonly nobodyAhead: boolean;
}

/** The result of a claim that was applied. */
export interface Won {
  readonly term: bigint;
  /** The leader's own entry in the queue. */
  readonly entry: Entry;
  /** Undefined if it is not known. */
  readonly leaderRevision: Revision | undefined;
  readonly termRevision: Revision;
  /** The value of the key `term` at that revision. Absent if it is not known. */
  readonly termValue?: Uint8Array | undefined;
  /** How the term before ended, as the leader's record says. */
  readonly previous?: PreviousRecord | undefined;
}

/** The fields of the event `elected`: flat, because loggers cannot write a bigint in an object. */
export function electedFields({ term, previous }: Won): Readonly<Record<string, unknown>> {
  if (previous === undefined) return { term };
  return { term, previousTerm: previous.term, previousMember: previous.memberId, previousReason: previous.reason };
}

/**
 * The claim: `leader` absent → the candidate's record; `term` n → n + 1; its own entry present; the
 * last holder's entry absent; the evicted entries deleted. `campaign/campaign-machine.ts` finds the
 * first four by their index (`claimPart`).
 */
export function claimChanges(
  keys: ElectionKeys,
  self: MemberIdentity,
  entry: Entry,
  claim: Claim,
  payload: Payload,
  lease: LeaseId,
): Change[] {
  const { term, termEntry, holder, evict, nobodyAhead } = claim;
  const lastTerm = termEntry && readTerm(termEntry);
  const record = { term, ...self, entry: entry.key };
  const previous = lastTerm && previousOf(lastTerm);
  const changes: Change[] = [
    { key: keys.leader, expect: null, put: writeLeader({ ...record, payload, previous }), lease },
    { key: keys.term, expect: termEntry?.revision ?? null, put: writeTerm({ ...record, nobodyAhead }, lastTerm), lease: null },
    { key: entry.key, expect: entry.revision },
  ];
  if (holder !== undefined) changes.push({ key: holder, expect: null });
  for (const other of evict) changes.push({ key: other.key, expect: other.revision, delete: true });
  return changes;
}

/** The part of an entry that its deletion needs. */
type OwnEntry = Pick<Entry, 'key' | 'revision'>;

/** The part of the leader's record that its deletion or replacement needs. */
export interface RemainingLeader {
  readonly revision: Revision;
  /** The key of its leader's entry in the queue, which identifies the record. */
  readonly entry: Key;
}

/** Reads what remains of the leader's record. Undefined if it is absent or unreadable. */
export function remainingLeader(record: Entry | undefined): RemainingLeader | undefined {
  const leader = tryRead(readLeader, record);
  return record && leader && { revision: record.revision, entry: leader.entry };
}

/** The facts of a handover. */
export interface Handover {
  readonly keys: ElectionKeys;
  /** The leader's record, its term and its entry in the queue, as the store holds them. */
  readonly leader: RemainingLeader;
  readonly termEntry: Entry;
  readonly entry: OwnEntry;
  readonly successor: Successor;
  /** Why the leader's term ends. */
  readonly reason: string;
}

/**
 * The handover in one swap: the leader's term ends, and the successor's term begins under the
 * successor's own lease. The key `leader` is never absent.
 */
export function handoverInOne(handover: Handover, lease: LeaseId): Change[] {
  const { keys, leader, termEntry, successor } = handover;
  const { payload, termFloor, seenTerm } = readCandidate(successor.entry);
  const lastTerm = readTerm(termEntry);
  const term = termAfter(highestTerm(lastIssued(lastTerm, seenTerm), termFloor));
  const previous = previousOf(lastTerm, handover.reason);
  const { memberId, incarnation, nobodyAhead } = successor;
  const record = { term, memberId, incarnation, entry: successor.entry.key };
  return [
    { key: keys.leader, expect: leader.revision, put: writeLeader({ ...record, payload, previous }), lease },
    { key: keys.term, expect: termEntry.revision, put: writeTerm({ ...record, nobodyAhead }, lastTerm) },
    ...leave(handover, writeElected(successor.entry, term, previous)),
  ];
}

/**
 * The first step of a handover in two: the leader's term ends and names the successor. The
 * successor then claims, while the other candidates hold back.
 */
export function handoverInTwo(handover: Handover): Change[] {
  const { keys, leader, termEntry, successor } = handover;
  const lastTerm = readTerm(termEntry);
  const ended: TermEnd = { reason: handover.reason, successor: successor.entry.key, nobodyAhead: successor.nobodyAhead };
  return [
    { key: keys.leader, expect: leader.revision, delete: true },
    { key: keys.term, expect: termEntry.revision, put: writeTerm({ ...lastTerm, ended }, lastTerm) },
    ...leave(handover, writeHandoverTerm(successor.entry, lastTerm.term)),
  ];
}

/**
 * Writes the mark into the successor's entry, and deletes the leader's. The order matters for
 * speed: if the store reports the changes in this order, the successor needs no read.
 */
function leave({ entry, successor }: Handover, mark: Uint8Array): Change[] {
  return [
    { key: successor.entry.key, expect: successor.entry.revision, put: mark },
    { key: entry.key, expect: entry.revision, delete: true },
  ];
}

/** The keys of a campaign or leadership that the store still holds. */
export interface Remains {
  readonly leader: RemainingLeader | undefined;
  readonly termEntry: Entry | undefined;
  readonly entry: OwnEntry | undefined;
}

/**
 * The swap that deletes the remains of a campaign or leadership, and writes how its term ended.
 * Empty if nothing remains. Does not change keys that another member has taken over. Checks the
 * revision of `term` whenever it deletes the record: where revisions restart after a deletion
 * (ZooKeeper), the revision of the record alone proves nothing.
 */
export function releaseChanges(keys: ElectionKeys, entryKey: Key, remains: Remains, ended: TermEnd): Change[] {
  const { leader, termEntry, entry } = remains;
  const ownRecord = leader?.entry === entryKey ? leader : undefined;
  if (ownRecord === undefined && entry === undefined) return [];
  const changes: Change[] = termEntry === undefined ? [] : [endTerm(keys.term, termEntry, entryKey, ended)];
  if (ownRecord !== undefined) changes.push({ key: keys.leader, expect: ownRecord.revision, delete: true });
  if (entry !== undefined) changes.push({ key: entryKey, expect: entry.revision, delete: true });
  return changes;
}

/**
 * True if the leader's record is that of the campaign with this entry. False if it is unreadable.
 */
export function isRecordOf(leaderEntry: Entry | undefined, entryKey: Key): boolean {
  return tryRead(readLeader, leaderEntry)?.entry === entryKey;
}

/**
 * True if the last term is that of the campaign with this entry, and its record has no `ended`.
 * False if it is unreadable.
 */
export function isTermOf(termEntry: Entry | undefined, entryKey: Key): boolean {
  const lastTerm = tryRead(readTerm, termEntry);
  return lastTerm?.entry === entryKey && lastTerm.ended === undefined;
}

/**
 * True if the last term is that of the campaign with this entry, and its record has `ended` without
 * a successor. False if it is unreadable.
 */
export function isEndedTermOf(termEntry: Entry | undefined, entryKey: Key): boolean {
  const lastTerm = tryRead(readTerm, termEntry);
  return lastTerm?.entry === entryKey && lastTerm.ended !== undefined && lastTerm.ended.successor === undefined;
}

/** What is known besides the mark of a handover. */
export interface MarkContext {
  /** The term's entry, if a watch has shown it. */
  readonly termEntry: Entry | undefined;
  /** The store's capability. */
  readonly revisionInSwap?: StoreCapabilities['revisionInSwap'];
}

/**
 * The term that the mark in this candidate's own entry proves: see `mark.ts`. Undefined if the mark
 * proves none: it is that of a handover in two steps, or an older version wrote it; the entry has
 * changed since; or the revision of the term is not known.
 */
export function wonAtMark(entry: Entry, { termEntry, revisionInSwap }: MarkContext): Won | undefined {
  const mark = readElected(readCandidate(entry));
  if (mark === undefined) return undefined;
  const lastTerm = isTermOf(termEntry, entry.key) ? tryRead(readTerm, termEntry) : undefined;
  const ownTermEntry = lastTerm?.term === mark.term ? termEntry : undefined;
  const termRevision = revisionInSwap?.(entry.revision, undefined) ?? ownTermEntry?.revision;
  // With another revision of the term, the entry is not as the swap wrote it.
  if (termRevision === undefined || (ownTermEntry !== undefined && ownTermEntry.revision !== termRevision)) return undefined;
  const leaderRevision = revisionInSwap?.(entry.revision, entry.lease);
  return { ...mark, entry, leaderRevision, termRevision, termValue: ownTermEntry?.value };
}

/**
 * Writes that the term of the campaign with this entry has ended. Only checks a later term, or a
 * term that has already ended.
 */
function endTerm(key: Key, termEntry: Entry, entryKey: Key, ended: TermEnd): Change {
  const lastTerm = tryRead(readTerm, termEntry);
  if (lastTerm?.entry !== entryKey || lastTerm.ended !== undefined) return { key, expect: termEntry.revision };
  return { key, expect: termEntry.revision, put: writeTerm({ ...lastTerm, ended }, lastTerm) };
}
