/**
 * Checks the size of a value before a member shows it. The value of a candidate must fit its entry,
 * and the leader's record, which has more fields. Without this check a candidate could wait in the
 * queue, only for the store to refuse its claim.
 */

import { type InvalidInput, invalidSecret, MAX_NAME_CHARACTERS } from '../base/validate.ts';
import { changeCandidate, type Payload, writeCandidate, writeGroup, writeLeader } from './record.ts';
import { writeElected } from './mark.ts';
import type { Entry, Key, Store } from '../store/contract.ts';
import type { MemberIdentity } from './transactions.ts';
import { MAX_TERM } from './terms.ts';

/** The most characters that a store adds to the name of an entry, for its order and its lease. */
const ADDED_TO_NAME = 64;
/** The longest member id, and the longest reason for the end of a term. */
const LONGEST_NAME = 'm'.repeat(MAX_NAME_CHARACTERS);
/** The longest end of a term before: the record of a later leader has it. */
const LONGEST_PREVIOUS = { term: MAX_TERM, memberId: LONGEST_NAME, reason: LONGEST_NAME };

/**
 * Checks the longest record of a candidate with this payload and this key. Every store has room for
 * a record without a payload.
 *
 * @throws `INVALID_OPTION` if the record exceeds the store's `maxValueBytes`.
 */
export function checkRecordSize(store: Store, self: MemberIdentity, key: Key, payload: Payload): void {
  if (payload === undefined) return;
  const { maxValueBytes } = store.capabilities;
  const bytes = longestRecord(self, key, payload);
  if (bytes > maxValueBytes) throw tooLarge(store, "a leader's record", bytes, bytes - longestRecord(self, key, undefined));
}

/**
 * Checks the record in a group with this payload.
 *
 * @throws `INVALID_OPTION` if the record exceeds the store's `maxValueBytes`.
 */
export function checkGroupRecordSize(store: Store, self: MemberIdentity, payload: Payload): void {
  const bytes = writeGroup({ ...self, payload }).length;
  if (bytes <= store.capabilities.maxValueBytes) return;
  throw tooLarge(store, 'a record in a group', bytes, bytes - writeGroup({ ...self, payload: undefined }).length);
}

function longestRecord(self: MemberIdentity, key: Key, payload: Payload): number {
  const entry = key + 'x'.repeat(ADDED_TO_NAME);
  const publication = Number.MAX_SAFE_INTEGER;
  const record = writeLeader({ term: MAX_TERM, ...self, entry, payload, previous: LONGEST_PREVIOUS, publication });
  return Math.max(record.length, longestEntry(key, payload));
}

/** The longest form of an entry: with the fields of a handover, or of an operator's requests. */
function longestEntry(key: Key, payload: Payload): number {
  const entry = (value: Uint8Array): Entry => ({ key, name: key, value, revision: '', order: 0n });
  const candidate = entry(writeCandidate(payload, MAX_TERM, MAX_TERM));
  const marked = writeElected(candidate, MAX_TERM, LONGEST_PREVIOUS);
  const asked = changeCandidate(entry(marked), { handTo: LONGEST_NAME, stepDown: true });
  return Math.max(marked.length, asked.length);
}

function tooLarge({ name, capabilities: { maxValueBytes } }: Store, record: string, bytes: number, ofValue: number): InvalidInput {
  return invalidSecret(
    'value',
    bytes,
    `at most ${maxValueBytes - bytes + ofValue} bytes of it, as the store "${name}" takes values of ${maxValueBytes} bytes`,
    `${ofValue} bytes of ${record} of up to ${bytes} bytes`,
  );
}
