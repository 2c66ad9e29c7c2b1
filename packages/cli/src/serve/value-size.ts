/** Checks that the store can hold a client's value, before the client is told that it is taken. */

import { firstComeFirstServed, isIncumbentError, type Member, type Store, StoreError } from '@incumbent/core';
import { checkGroupRecordSize, checkRecordSize, electionKeys, payloadCodec, writeName } from '@incumbent/core/adapter';

const codec = payloadCodec<unknown>({});
const succession = firstComeFirstServed();

/**
 * Checks the value of a candidacy. The store refuses a publication of a larger one.
 *
 * @throws `TOO_LARGE`, or `INVALID_OPTION` for a value that is nested too deep.
 */
export function checkElectionValue(store: Store, member: Member, election: string, value: unknown): void {
  const payload = codec.encode(value);
  const { memberId, incarnation } = member;
  const rank = succession.rank({ election, memberId });
  const name = writeName({ memberId, incarnation, attempt: Number.MAX_SAFE_INTEGER, succession: succession.id, rank });
  checkSize(() => checkRecordSize(store, member, `${electionKeys(election).candidates}/${name}`, payload));
}

/** Checks the value of a membership. @throws As {@link checkElectionValue}. */
export function checkGroupValue(store: Store, member: Member, value: unknown): void {
  const payload = codec.encode(value);
  checkSize(() => checkGroupRecordSize(store, member, payload));
}

/** Gives a client the answer of a store that refuses the value. */
function checkSize(check: () => void): void {
  try {
    check();
  } catch (cause) {
    if (!isIncumbentError(cause, 'INVALID_OPTION')) throw cause;
    throw new StoreError('TOO_LARGE', 'notSent', cause.message, { cause });
  }
}
