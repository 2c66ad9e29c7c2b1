/**
 * The end of a leadership, as pure transitions. The order is fixed: belief ends, then the work is told and drains, then the record and
 * the entry go. Whatever happens meanwhile, there is one end, with the first reason.
 */

import type { SessionEnd, SessionEndReason } from '../lease/session.ts';
import type { Successor } from '../protocol/succession.ts';
import type { Remains } from '../protocol/transactions.ts';

export type LeadershipEndReason =
  | SessionEndReason
  /** Given up by its holder. */
  | 'resigned'
  /** Given up in favour of a candidate. */
  | 'handover'
  /** Somebody deleted the leader's record. */
  | 'recordDeleted'
  /** The leader's record, or its term, is another's. */
  | 'recordReplaced'
  /** Somebody deleted the leader's entry in the queue. */
  | 'entryDeleted'
  /** A fence has seen a newer term: the store has lost terms. */
  | 'termBehind';

/** How a leadership ended, and what may explain it. */
export interface LeadershipEnd extends Omit<SessionEnd, 'reason'> {
  readonly term: bigint;
  readonly reason: LeadershipEndReason;
  /** True unless it was given up by resigning, by a handover, or by closing the member. */
  readonly lost: boolean;
  /**
   * What the work gets to stop, from this end on, in ms: within it the store certainly keeps the lease, by this process's clocks. 0 where the lease may be
   * over already: it was seen to be gone, the machine slept, or the process stood still for too long.
   */
  readonly drainMs: number;
  /** With `termBehind`: the term that the fence has seen. */
  readonly seenTerm?: bigint;
}

export type ReleaseState =
  | { readonly phase: 'leading' }
  /** Wait for the work to stop. */
  | { readonly phase: 'draining'; readonly successor: Successor | undefined; readonly reason: LeadershipEndReason }
  /** Make the swap that hands over. */
  | { readonly phase: 'handingOver'; readonly successor: Successor; readonly tries: number }
  /** The swap did not happen, or nobody knows: read who holds the term. */
  | { readonly phase: 'checking'; readonly successor: Successor; readonly tries: number }
  /** Read what is left of my term, or delete it. `reason` is what the store will tell of the end. */
  | { readonly phase: 'releasing'; readonly reason: ReleaseReason; readonly remains: Remains | undefined; readonly handoverFailed: boolean }
  /** `left`: the store refuses to have the rest removed; it is tried again now and then while the session lives. */
  | { readonly phase: 'released'; readonly handoverFailed: boolean; readonly left: boolean };

/** How the store's record of the term says that it ended. */
type ReleaseReason = LeadershipEndReason | 'handoverFailed';

export type ReleaseEvent =
  | { readonly type: 'end'; readonly reason: LeadershipEndReason; readonly successor?: Successor }
  | { readonly type: 'drained' }
  | { readonly type: 'swapped' }
  | { readonly type: 'notSwapped' }
  | { readonly type: 'failed'; readonly unknown: boolean }
  /** The store will not have it, and will not if it is asked again. */
  | { readonly type: 'refused' }
  | { readonly type: 'remains'; readonly remains: Remains }
  /** `successor` is undefined where the term is no longer mine to give, or the successor has gone. */
  | { readonly type: 'checked'; readonly successorHasTerm: boolean; readonly successor: Successor | undefined }
  /** The session is over: everything of it goes with the lease, which its owner revokes after the drains. */
  | { readonly type: 'leaseOver' };

/** A swap that fails again and again on what was just read meets somebody who keeps changing it: then it is a resignation. */
const MAX_TRIES = 5;

export function transition(releaseState: ReleaseState, event: ReleaseEvent): ReleaseState {
  switch (releaseState.phase) {
    case 'leading':
      return event.type === 'end' ? { phase: 'draining', successor: event.successor, reason: event.reason } : releaseState;
    case 'draining':
      return event.type === 'drained' ? afterDrain(releaseState) : releaseState;
    case 'handingOver':
      return handingOver(releaseState, event);
    case 'checking':
      return checking(releaseState, event);
    case 'releasing':
      return releasing(releaseState, event);
    case 'released':
      return releaseState;
    default:
      return releaseState satisfies never;
  }
}

type In<P extends ReleaseState['phase']> = Extract<ReleaseState, { phase: P }>;

function afterDrain({ successor, reason }: In<'draining'>): ReleaseState {
  if (successor !== undefined) return { phase: 'handingOver', successor, tries: 1 };
  return { phase: 'releasing', reason, remains: undefined, handoverFailed: false };
}

const resignInstead: ReleaseState = { phase: 'releasing', reason: 'handoverFailed', remains: undefined, handoverFailed: true };

function handingOver(releaseState: In<'handingOver'>, event: ReleaseEvent): ReleaseState {
  const { successor, tries } = releaseState;
  switch (event.type) {
    case 'swapped':
      return { phase: 'released', handoverFailed: false, left: false };
    case 'notSwapped':
      return { phase: 'checking', successor, tries };
    case 'failed':
      return event.unknown ? { phase: 'checking', successor, tries } : releaseState;
    case 'refused':
      return resignInstead;
    case 'leaseOver':
      return { phase: 'released', handoverFailed: true, left: false };
    default:
      return releaseState;
  }
}

function checking(releaseState: In<'checking'>, event: ReleaseEvent): ReleaseState {
  switch (event.type) {
    case 'checked':
      if (event.successorHasTerm) return { phase: 'released', handoverFailed: false, left: false };
      if (event.successor === undefined || releaseState.tries === MAX_TRIES) return resignInstead;
      return { phase: 'handingOver', successor: event.successor, tries: releaseState.tries + 1 };
    case 'refused':
      return resignInstead;
    case 'leaseOver':
      return { phase: 'released', handoverFailed: true, left: false };
    default:
      return releaseState;
  }
}

function releasing(releaseState: In<'releasing'>, event: ReleaseEvent): ReleaseState {
  const { handoverFailed } = releaseState;
  switch (event.type) {
    case 'remains':
      return { ...releaseState, remains: event.remains };
    case 'swapped':
    case 'leaseOver':
      return { phase: 'released', handoverFailed, left: false };
    case 'refused':
      return { phase: 'released', handoverFailed, left: true };
    case 'notSwapped':
    case 'failed':
      return { ...releaseState, remains: undefined };
    default:
      return releaseState;
  }
}

/** What is done about a campaign that nobody follows up any more. */
export const releaseOrphan: ReleaseState = { phase: 'releasing', reason: 'resigned', remains: undefined, handoverFailed: false };

/** Whether an end is a loss rather than a decision. */
export function isLoss(reason: LeadershipEndReason): boolean {
  return reason !== 'resigned' && reason !== 'handover' && reason !== 'memberClosed';
}

/** Whether the store keeps the lease for a while yet, as far as this process can know. */
export function isSurelyKept(reason: LeadershipEndReason): boolean {
  return reason !== 'leaseExpired' && reason !== 'clockJump';
}
