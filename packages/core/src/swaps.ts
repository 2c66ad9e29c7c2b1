/** The swaps of an election, as data. Every write by a leader carries the check of its term. */

import type { Claim, Won } from './candidate.ts';
import type { ElectionKeys } from './keys.ts';
import {
  markCandidate,
  readLeader,
  readTerm,
  writeLeader,
  writeTerm,
  type LeaderRecord,
  type Payload,
  type TermEnd,
  type TermRecord,
} from './record.ts';
import type { Change, Entry, Key, LeaseId, Revision } from './store.ts';

/** Who does it. */
export interface Self {
  readonly memberId: string;
  readonly incarnation: string;
}

/** `leader` absent → mine; `term` n → n+1; my entry there; the last holder's gone. The order is `claimPart`'s. */
export function claimChanges(keys: ElectionKeys, self: Self, entry: Entry, claim: Claim, payload: Payload, lease: LeaseId): Change[] {
  const { term, termEntry, holder, evict } = claim;
  const before = termEntry === undefined ? undefined : readTerm(termEntry);
  const record = { term, ...self, entry: entry.key };
  const changes: Change[] = [
    { key: keys.leader, expect: null, put: writeLeader({ ...record, payload }), lease },
    { key: keys.term, expect: termEntry?.revision ?? null, put: writeTerm(record, before), lease: null },
    { key: entry.key, expect: entry.revision },
  ];
  if (holder !== undefined) changes.push({ key: holder, expect: null });
  for (const other of evict) changes.push({ key: other.key, expect: other.revision, delete: true });
  return changes;
}

export interface Handover {
  readonly keys: ElectionKeys;
  readonly won: Won;
  /** The last revision of the leader's record. */
  readonly leaderRevision: Revision;
  /** My term's record, as it stands. */
  readonly term: TermRecord;
  readonly heir: { readonly entry: Entry; readonly self: Self; readonly payload: Payload };
}

/** In one swap: my term ends, the heir's begins under the heir's own lease; the leader's key is never absent. */
export function handoverInOne({ keys, won, leaderRevision, term: mine, heir }: Handover, lease: LeaseId): Change[] {
  const term = won.term + 1n;
  const record: LeaderRecord = { term, ...heir.self, entry: heir.entry.key, payload: heir.payload };
  return [
    { key: keys.leader, expect: leaderRevision, put: writeLeader(record), lease },
    { key: keys.term, expect: won.termRevision, put: writeTerm({ term, ...heir.self, entry: heir.entry.key }, mine) },
    { key: won.entry.key, expect: won.entry.revision, delete: true },
    { key: heir.entry.key, expect: heir.entry.revision, put: markCandidate(heir.entry, term) },
  ];
}

/** In two steps: my term ends and names the heir, which then claims, while the others hold back. */
export function handoverInTwo({ keys, won, leaderRevision, term: mine, heir }: Handover): Change[] {
  const ended: TermEnd = { reason: 'handover', heir: heir.entry.key };
  return [
    { key: keys.leader, expect: leaderRevision, delete: true },
    { key: keys.term, expect: won.termRevision, put: writeTerm({ ...mine, ended }, mine) },
    { key: won.entry.key, expect: won.entry.revision, delete: true },
    { key: heir.entry.key, expect: heir.entry.revision, put: markCandidate(heir.entry, won.term) },
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
  const mine = leader !== undefined && isMarked(leader, mark) ? leader : undefined;
  if (mine === undefined && entry === undefined) return [];
  const changes: Change[] = term === undefined ? [] : [endTerm(keys.term, term, mark, ended)];
  if (mine !== undefined) changes.push({ key: keys.leader, expect: mine.revision, delete: true });
  if (entry !== undefined) changes.push({ key: mark, expect: entry.revision, delete: true });
  return changes;
}

function isMarked(leader: Entry, mark: Key): boolean {
  return readLeader(leader).entry === mark;
}

/** My term is written down as ended; a later one, or one that has ended already, is only checked. */
function endTerm(key: Key, term: Entry, mark: Key, ended: TermEnd): Change {
  const record = readTerm(term);
  if (record.entry !== mark || record.ended !== undefined) return { key, expect: term.revision };
  return { key, expect: term.revision, put: writeTerm({ ...record, ended }, record) };
}
