/** The names that a run uses in its store. */

export const ELECTION = 'controller';
export const NAMESPACE = 'chaos';

/** Where leaders write, a key for each term. */
export const WORK = 'work';

export function workKey(term: bigint): string {
  return `${WORK}/${term}`;
}

/** The leader's record, as an operator sees it. */
export const RECORD: string = `${NAMESPACE}/elections/${ELECTION}/leader`;
