/**
 * The bounds of terms. Each bound leaves room below the next one, so that no single wrong number
 * can use up the terms of an election:
 *
 * - `MAX_FLOOR` limits the terms that a caller may demand, by `minTerm` or `reportTerm`. The
 *   terms between it and `MAX_ADMITTED` last for 73,000 years at a million elections a second.
 * - `MAX_ADMITTED` limits the terms that a `Fence` takes. A fence must admit the terms that follow
 *   `MAX_FLOOR`. It refuses 2^63 - 1, which other systems use for "the largest number".
 * - `MAX_TERM` limits the terms that are issued. They fit a signed integer of 64 bits, for the
 *   resources that compare them.
 *
 * 2^53 - 1 would be too low: a store of the kind `termSource: 'clock'` may count nanoseconds.
 */

import { IncumbentError, isIncumbentError } from '../base/errors.ts';
import { invalidOption } from '../base/validate.ts';

/** The highest term that a caller may demand. */
export const MAX_FLOOR: bigint = 2n ** 61n;
/** The highest term that a `Fence` admits. */
export const MAX_ADMITTED: bigint = 2n ** 62n;
/** The highest term that is issued. */
export const MAX_TERM: bigint = 2n ** 63n - 1n;

/**
 * Returns the term.
 *
 * @throws {TypeError | RangeError} `INVALID_OPTION` unless it is a bigint from 1n to `MAX_FLOOR`.
 */
export function checkFloor(option: string, term: unknown): bigint {
  if (typeof term === 'bigint' && term >= 1n && term <= MAX_FLOOR) return term;
  throw invalidOption(option, term, 'a bigint from 1n to 2n ** 61n');
}

/**
 * Returns the term if a fence may admit or remember it: a bigint from `min` to `MAX_ADMITTED`.
 * Otherwise throws `INVALID_OPTION`.
 */
export function checkAdmitted(option: string, term: unknown, min: 0n | 1n): bigint {
  if (typeof term === 'bigint' && term >= min && term <= MAX_ADMITTED) return term;
  throw invalidOption(option, term, `a bigint from ${min}n to 2n ** 62n`);
}

/**
 * Reports to the leadership the newer term that a fence has seen, if the error is the fence's
 * `STALE_TERM`. Does nothing for a term that is too high to be demanded, or without terms.
 */
export function reportStaleTerm(error: unknown, leadership: { readonly term: bigint | undefined; reportTerm(seen: bigint): void }): void {
  if (!isIncumbentError(error, 'STALE_TERM') || leadership.term === undefined) return;
  const { seen } = error.details;
  if (typeof seen === 'bigint' && seen > leadership.term && seen <= MAX_FLOOR) leadership.reportTerm(seen);
}

/** Returns the highest of these terms, or 0n if there are none. */
export function highestTerm(...terms: readonly bigint[]): bigint {
  return terms.reduce((highest, term) => (term > highest ? term : highest), 0n);
}

/** Returns the term to issue after `last`. Throws `TERMS_EXHAUSTED` if there is none. */
export function termAfter(last: bigint): bigint {
  if (last < MAX_TERM) return last + 1n;
  throw new IncumbentError(
    'TERMS_EXHAUSTED',
    `the last term is ${last}, the highest of 64 bits: nobody can be elected until an operator ` +
      'lowers it (ElectionAdmin.lowerTermUnsafely, or: incumbent lower-term-unsafely)',
    { details: { term: last } },
  );
}
