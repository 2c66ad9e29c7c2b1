/**
 * The time in office and its end, as pure transitions. The order is fixed: belief ends, then the work is told and drains, then the record and
 * the entry go. Whatever happens meanwhile, there is one end, with the first reason.
 */

import type { SessionEnd, SessionEndReason } from '../lease/session.ts';
import type { Heir } from '../protocol/succession.ts';
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

export type Tenure =
  | { readonly phase: 'leading' }
  /** Wait for the work to stop. */
  | { readonly phase: 'draining'; readonly heir: Heir | undefined; readonly reason: LeadershipEndReason }
  /** Make the swap that hands over. */
  | { readonly phase: 'handingOver'; readonly heir: Heir; readonly tries: number }
  /** The swap did not happen, or nobody knows: read who holds the term. */
  | { readonly phase: 'checking'; readonly heir: Heir; readonly tries: number }
  /** Read what is left of my term, or delete it. `reason` is what the store will tell of the end. */
  | { readonly phase: 'releasing'; readonly reason: ReleaseReason; readonly remains: Remains | undefined; readonly failedHeir: boolean }
  /** `left`: the store refuses to have the rest removed; it is tried again now and then while the session lives. */
  | { readonly phase: 'released'; readonly failedHeir: boolean; readonly left: boolean };

/** How the store's record of the term says that it ended. */
type ReleaseReason = LeadershipEndReason | 'handoverFailed';

export type TenureEvent =
  | { readonly type: 'end'; readonly reason: LeadershipEndReason; readonly heir?: Heir }
  | { readonly type: 'drained' }
  | { readonly type: 'swapped' }
  | { readonly type: 'notSwapped' }
  | { readonly type: 'failed'; readonly unknown: boolean }
  /** The store will not have it, and will not if it is asked again. */
  | { readonly type: 'refused' }
  | { readonly type: 'remains'; readonly remains: Remains }
  /** `heir` is undefined where the term is no longer mine to give, or the heir has gone. */
  | { readonly type: 'checked'; readonly heirHasIt: boolean; readonly heir: Heir | undefined }
  /** The session is over: everything of it goes with the lease, which its owner revokes after the drains. */
  | { readonly type: 'leaseOver' };

/** A swap that fails again and again on what was just read meets somebody who keeps changing it: then it is a resignation. */
const MAX_TRIES = 5;

export function advance(tenure: Tenure, event: TenureEvent): Tenure {
  switch (tenure.phase) {
    case 'leading':
      return event.type === 'end' ? { phase: 'draining', heir: event.heir, reason: event.reason } : tenure;
    case 'draining':
      return event.type === 'drained' ? afterDrain(tenure) : tenure;
    case 'handingOver':
      return handingOver(tenure, event);
    case 'checking':
      return checking(tenure, event);
    case 'releasing':
      return releasing(tenure, event);
    case 'released':
      return tenure;
    default:
      return tenure satisfies never;
  }
}

type In<P extends Tenure['phase']> = Extract<Tenure, { phase: P }>;

function afterDrain({ heir, reason }: In<'draining'>): Tenure {
  if (heir !== undefined) return { phase: 'handingOver', heir, tries: 1 };
  return { phase: 'releasing', reason, remains: undefined, failedHeir: false };
}

const resignInstead: Tenure = { phase: 'releasing', reason: 'handoverFailed', remains: undefined, failedHeir: true };

function handingOver(tenure: In<'handingOver'>, event: TenureEvent): Tenure {
  const { heir, tries } = tenure;
  switch (event.type) {
    case 'swapped':
      return { phase: 'released', failedHeir: false, left: false };
    case 'notSwapped':
      return { phase: 'checking', heir, tries };
    case 'failed':
      return event.unknown ? { phase: 'checking', heir, tries } : tenure;
    case 'refused':
      return resignInstead;
    case 'leaseOver':
      return { phase: 'released', failedHeir: true, left: false };
    default:
      return tenure;
  }
}

function checking(tenure: In<'checking'>, event: TenureEvent): Tenure {
  switch (event.type) {
    case 'checked':
      if (event.heirHasIt) return { phase: 'released', failedHeir: false, left: false };
      if (event.heir === undefined || tenure.tries === MAX_TRIES) return resignInstead;
      return { phase: 'handingOver', heir: event.heir, tries: tenure.tries + 1 };
    case 'refused':
      return resignInstead;
    case 'leaseOver':
      return { phase: 'released', failedHeir: true, left: false };
    default:
      return tenure;
  }
}

function releasing(tenure: In<'releasing'>, event: TenureEvent): Tenure {
  const { failedHeir } = tenure;
  switch (event.type) {
    case 'remains':
      return { ...tenure, remains: event.remains };
    case 'swapped':
    case 'leaseOver':
      return { phase: 'released', failedHeir, left: false };
    case 'refused':
      return { phase: 'released', failedHeir, left: true };
    case 'notSwapped':
    case 'failed':
      return { ...tenure, remains: undefined };
    default:
      return tenure;
  }
}

/** What is done about a candidacy that nobody follows up any more. */
export const sweep: Tenure = { phase: 'releasing', reason: 'resigned', remains: undefined, failedHeir: false };

/** Whether an end is a loss rather than a decision. */
export function isLoss(reason: LeadershipEndReason): boolean {
  return reason !== 'resigned' && reason !== 'handover' && reason !== 'memberClosed';
}

/** Whether the store keeps the lease for a while yet, as far as this process can know. */
export function isSurelyKept(reason: LeadershipEndReason): boolean {
  return reason !== 'leaseExpired' && reason !== 'clockJump';
}
