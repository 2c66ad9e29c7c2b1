/** What `resign` and `handover` share: the term that is meant, and waiting for its end. */

import { setTimeout as sleep } from 'node:timers/promises';

import type { ElectionAdmin, ElectionState } from '@incumbent/core';
import { describeHidden } from '@incumbent/core/adapter';

import { CliError, Exit, usageError } from '../exit.ts';

/** How often the store is asked whether the term is over. */
const EVERY_MS = 100;

export function parseTerm(text: string, option = '--term'): bigint {
  if (/^[1-9]\d{0,18}$/.test(text)) return BigInt(text);
  throw usageError(`${option} is ${describeHidden(text)}: it must be a term, a whole number from 1`);
}

export interface Led {
  readonly term: bigint;
  readonly memberId: string;
}

/** The present leader, if it leads in the term that was named, or if none was. */
export async function presentLeader(operator: ElectionAdmin, meant: bigint | undefined): Promise<Led> {
  const { leader, term } = await operator.state();
  if (leader === undefined)
    throw new CliError(Exit.NO, `nobody leads "${operator.name}"${term === undefined ? '' : ` (the last term was ${term})`}`);
  if (meant !== undefined && meant !== leader.term)
    throw new CliError(Exit.NO, `"${leader.memberId}" leads "${operator.name}" in term ${leader.term}, not ${meant}: nothing was done`);
  return { term: leader.term, memberId: leader.memberId };
}

/** The election when the term is over: another has begun, or its leader has let go. Undefined when it is not within `timeoutMs`. */
export async function untilOver(operator: ElectionAdmin, term: bigint, timeoutMs: number): Promise<ElectionState<unknown> | undefined> {
  const until = performance.now() + timeoutMs;
  for (;;) {
    const state = await operator.state();
    const successor = state.leader !== undefined && state.leader.term > term;
    const nobodyElse = state.leader === undefined && !state.stopping && state.candidates.length === 0;
    if (successor || nobodyElse) return state;
    if (performance.now() >= until) return undefined;
    await sleep(EVERY_MS);
  }
}
