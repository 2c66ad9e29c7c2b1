/** What `resign` and `handover` share: the term that the user names, and the wait for its end. */

import { setTimeout as sleep } from 'node:timers/promises';

import type { ElectionAdmin, ElectionState } from '@incumbent/core';
import { describeHidden } from '@incumbent/core/adapter';

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
 * the election and there is no candidate. Undefined if neither happens within `timeoutMs`.
 */
export async function waitForTermEnd(admin: ElectionAdmin, term: bigint, timeoutMs: number): Promise<ElectionState | undefined> {
  const until = performance.now() + timeoutMs;
  for (;;) {
    const state = await admin.state();
    const hasSuccessor = state.leader !== undefined && state.leader.term > term;
    const isEmpty = state.leader === undefined && !state.stopping && state.candidates.length === 0;
    if (hasSuccessor || isEmpty) return state;
    if (performance.now() >= until) return undefined;
    await sleep(POLL_EVERY_MS);
  }
}
