/**
 * Checks, before a candidate joins the queue, that its value fits every record that will hold it:
 * its entry in the queue, and the leader's record, which has more fields. Else the candidate would
 * wait for its turn, and the store would refuse its claim.
 */

import { type InvalidInput, invalidSecret } from '../base/validate.ts';
import { writeHandoverTerm, type Payload, writeCandidate, writeLeader, writeRequest } from './record.ts';
import type { Entry, Key, Store } from '../store/contract.ts';
import type { MemberIdentity } from './transactions.ts';
import { MAX_TERM } from './terms.ts';

/**
 * A store may add this many characters at most to the name of an entry: its order, and its lease.
 */
const ADDED_TO_NAME = 64;
/** Whom an operator may name in an entry. */
const LONGEST_MEMBER_ID = 'm'.repeat(128);

/**
 * Throws `INVALID_OPTION` unless the store takes the longest records of a candidate with this
 * payload and this key.
 */
export function checkRecordSize(store: Store, self: MemberIdentity, key: Key, payload: Payload): void {
  const { maxValueBytes } = store.capabilities;
  const bytes = longestRecord(self, key, payload);
  if (bytes > maxValueBytes) throw tooLarge(store.name, maxValueBytes, bytes, bytes - longestRecord(self, key, undefined));
}

function longestRecord(self: MemberIdentity, key: Key, payload: Payload): number {
  const entry = key + 'x'.repeat(ADDED_TO_NAME);
  return Math.max(writeLeader({ term: MAX_TERM, ...self, entry, payload }).length, longestEntry(key, payload));
}

/** An entry that a handover has named, and whose candidate is asked to hand over. */
function longestEntry(key: Key, payload: Payload): number {
  const entry = (value: Uint8Array): Entry => ({ key, name: key, value, revision: '', order: 0n });
  const named = writeHandoverTerm(entry(writeCandidate(payload, MAX_TERM)), MAX_TERM);
  return writeRequest(entry(named), LONGEST_MEMBER_ID).length;
}

function tooLarge(store: string, maxBytes: number, bytes: number, ofValue: number): InvalidInput {
  return invalidSecret(
    'value',
    bytes,
    `at most ${maxBytes - bytes + ofValue} bytes of it, as the store "${store}" takes values of ${maxBytes} bytes`,
    `${ofValue} bytes of a leader's record of up to ${bytes} bytes`,
  );
}
