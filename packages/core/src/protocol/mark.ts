/**
 * The mark of a handover, which the former leader writes into its successor's entry.
 *
 * A handover in one swap issues the term, writes the leader's record under the successor's lease,
 * and marks the successor's entry. So a candidate that finds this mark in its own entry was the
 * leader when the entry was written. No other member can have been elected since: a claim requires
 * that the last holder's entry is absent, and this is the holder's entry. Only the successor, the
 * end of its lease or an operator removes that entry. The successor's own deadline covers its
 * lease, and its watches show an operator's deletion. So the successor is in the position of a
 * leader whose watches lag.
 */

import type { Entry } from '../store/contract.ts';
import { type CandidateRecord, changeCandidate, isJsonObject, type PreviousRecord, readPrevious, readTermNumber } from './record.ts';

/** Marks an entry after a handover in two steps. `term`: the term that ended. */
export function writeHandoverTerm(entry: Entry, term: bigint): Uint8Array {
  return changeCandidate(entry, { handoverTerm: String(term) });
}

/**
 * Marks an entry in the swap that elects its candidate. `term`: the term that begins. The field
 * `elected` repeats the term, because an older version that marks the entry keeps the field, which
 * it does not know.
 */
export function writeElected(entry: Entry, term: bigint, previous: PreviousRecord | undefined): Uint8Array {
  const before = previous && { ...previous, term: String(previous.term) };
  return changeCandidate(entry, { handoverTerm: String(term), elected: { term: String(term), previous: before } });
}

/** The term that began with the swap that wrote this mark. */
export interface ElectedMark {
  readonly term: bigint;
  /** How the term before ended, as the leader's record says. */
  readonly previous: PreviousRecord | undefined;
}

/**
 * The mark of a handover in one swap. Undefined if there is none, or if the entry has changed
 * since: another version has marked it, or an operator has made a request.
 */
export function readElected(record: CandidateRecord): ElectedMark | undefined {
  const { elected } = record.raw;
  if (!isJsonObject(elected) || record.handTo !== undefined || record.stepDown === true) return undefined;
  const term = readTermNumber(elected['term']);
  return term === undefined || term !== record.handoverTerm ? undefined : { term, previous: readPrevious(elected['previous']) };
}
