/** What `resign` and `handover` share: the term that the user names, and the wait for its end. */

import { setTimeout as sleep } from 'node:timers/promises';

import type { ElectionAdmin, ElectionState } from '@incumbent/core';
import { describeHidden, isRetryable } from '@incumbent/core/adapter';

import type { TermFields } from '../../common/output.ts';
import { refusal, usageError } from '../../exit.ts';

/** How often the store is asked whether the term has ended, in ms. */
const POLL_EVERY_MS = 100;

export function parseTerm(text: string, option = '--term'): bigint {
  if (/^[1-9]\d{0,18}$/.test(text)) return BigInt(text);
  throw usageError(`${option} is ${describeHidden(text)}: it must be a term, a whole number from 1`);
}

export interface PresentLeader {
  readonly term: bigint;
  readonly memberId: string;
}

/** A term and its leader as JSON. */
export function termFields({ term, memberId }: PresentLeader): TermFields {
  return { term: String(term), memberId };
}

/**
 * @throws A `CliError` if nobody leads, or if `expectedTerm` is given and the leader has another
 *   term.
 */
export async function presentLeader(admin: ElectionAdmin, expectedTerm: bigint | undefined): Promise<PresentLeader> {
  const { leader, term } = await admin.state();
  if (leader === undefined)
    throw refusal('NOBODY_LEADS', `nobody leads "${admin.name}"${term === undefined ? '' : ` (the last term was ${term})`}`);
  if (expectedTerm !== undefined && expectedTerm !== leader.term)
    throw refusal('OTHER_TERM', `"${leader.memberId}" leads "${admin.name}" in term ${leader.term}, not ${expectedTerm}: nothing was done`);
  return { term: leader.term, memberId: leader.memberId };
}

/**
 * Resolves with the election's state once a later term has begun, or once the leader has released
 * the election and there is no candidate. Undefined if neither happens within `timeoutMs`. Reads
 * again after an error of the store that may pass.
 */
export async function waitForTermEnd(admin: ElectionAdmin, term: bigint, timeoutMs: number): Promise<ElectionState | undefined> {
  const until = performance.now() + timeoutMs;
  for (;;) {
    const state = await stateUnlessAway(admin);
    if (state !== undefined && hasEnded(state, term)) return state;
    if (performance.now() >= until) return undefined;
    await sleep(POLL_EVERY_MS);
  }
}

/**
 * Waits for the end of a handover that was requested, as `waitForTermEnd` does. If the leader has
 * not handed over in time, withdraws the request; a leader that had begun to stop its work still
 * hands over. Undefined if the leader has stopped leading, and nobody has followed.
 */
export async function waitForHandover(
  admin: ElectionAdmin,
  term: bigint,
  timeoutMs: number,
): Promise<ElectionState | 'withdrawn' | undefined> {
  const state = await waitForTermEnd(admin, term, timeoutMs);
  if (state !== undefined) return state;
  if (await admin.withdrawHandover(term)) return 'withdrawn';
  // The leader may have handed over since the last look.
  return waitForTermEnd(admin, term, 0);
}

/** What a withdrawal means: the leader may have begun to carry the request out. */
export const WITHDRAWN = 'the request is withdrawn, but a leader that had begun to stop its work still hands over';

async function stateUnlessAway(admin: ElectionAdmin): Promise<ElectionState | undefined> {
  try {
    return await admin.state();
  } catch (error) {
    if (!isRetryable(error)) throw error;
    return undefined;
  }
}

function hasEnded({ leader, stopping, candidates }: ElectionState, term: bigint): boolean {
  return leader === undefined ? !stopping && candidates.length === 0 : leader.term > term;
}
