/**
 * What viewers may do with `--allow-operate`: make a leader step down, or hand over. Each has a
 * preview that says what will happen. The request names the term of the preview, and does nothing
 * if that term is over.
 */

import { ElectionAdmin, type ElectionState, type Store } from '@incumbent/core';

import { showDuration } from '../common/duration.ts';
import { waitForHandover, waitForTermEnd, WITHDRAWN } from '../commands/operate/term.ts';
import { ApiError } from '../serve/api-error.ts';
import type { PreviewDocument } from './documents.ts';

/** How long a request may take, as the default of `--timeout`. */
const WITHIN_MS = 30_000;

/** How a request has ended. */
export interface OperateResult {
  readonly ok: boolean;
  readonly text: string;
}

export class Operator {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /**
   * `to`: the next leader of a handover. Undefined for `resign`.
   *
   * @throws `OTHER_TERM`, `NOT_FOUND`, or an error of the store.
   */
  async preview(election: string, to?: string): Promise<PreviewDocument> {
    const state = await new ElectionAdmin(this.#store, election).state();
    const { leader } = state;
    if (leader === undefined) throw new ApiError('OTHER_TERM', `nobody leads "${election}" now: there is no term to end`);
    if (to !== undefined && leader.memberId === to) throw new ApiError('OTHER_TERM', `"${to}" leads "${election}" already`);
    if (to !== undefined && !state.candidates.some(({ memberId }) => memberId === to))
      throw new ApiError('NOT_FOUND', `"${to}" is no candidate of "${election}" now`);
    const steps = to === undefined ? resignSteps(state, leader.memberId) : this.#handoverSteps(leader.memberId, to);
    return { election, term: String(leader.term), member: leader.memberId, steps };
  }

  /** Resolves when another member leads, nobody is left, or half a minute has passed. */
  async resign(election: string, term: bigint): Promise<OperateResult> {
    const admin = new ElectionAdmin(this.#store, election);
    if (!(await admin.stepDown(term))) return over(term);
    const after = await waitForTermEnd(admin, term, WITHIN_MS);
    if (after === undefined)
      return { ok: false, text: 'Nobody has followed yet: the leader may still be stopping, which ends with its lease at the latest.' };
    return { ok: true, text: nowLeads(after) };
  }

  /** As `resign`. Withdraws the request if the leader has not handed over in time. */
  async handover(election: string, term: bigint, to: string): Promise<OperateResult> {
    const admin = new ElectionAdmin(this.#store, election);
    if (!(await admin.requestHandover(term, to))) return over(term);
    const after = await waitForHandover(admin, term, WITHIN_MS);
    if (after === 'withdrawn')
      return { ok: false, text: `The leader has not handed over within ${showDuration(WITHIN_MS)}: ${WITHDRAWN}.` };
    if (after === undefined) return { ok: false, text: 'The leader has stopped leading, and nobody has followed yet.' };
    return { ok: after.leader?.memberId === to, text: nowLeads(after) };
  }

  #handoverSteps(leader: string, to: string): readonly string[] {
    return [
      `${leader} is asked to hand over to ${to}.`,
      `The work of ${leader} stops first. Nobody does the work of the leader meanwhile.`,
      this.#store.capabilities.assignableLease
        ? `Then ${to} leads, in one step: the election is never vacant.`
        : `Then ${to} leads. On this store a handover takes two steps, and nobody leads in between.`,
      `If ${leader} has not handed over within ${showDuration(WITHIN_MS)}, the request is withdrawn. If it had begun to stop its work, it still hands over.`,
    ];
  }
}

function resignSteps({ candidates }: ElectionState, leader: string): readonly string[] {
  const next = candidates.find(({ leads }) => !leads);
  return [
    `${leader} is asked to step down.`,
    `The work of ${leader} stops first, which may take until its lease ends. Nobody leads before that.`,
    next === undefined
      ? `Nobody waits in the queue: nobody leads until ${leader} or another member has joined the queue and is elected.`
      : `Then ${next.memberId} leads, which is next in the queue now.`,
    `${leader} joins the queue again, at its end.`,
  ];
}

function over(term: bigint): OperateResult {
  return { ok: false, text: `Term ${term} had ended already: nothing was done.` };
}

function nowLeads({ leader }: ElectionState): string {
  return leader === undefined ? 'Nobody leads now.' : `${leader.memberId} leads in term ${leader.term}.`;
}
