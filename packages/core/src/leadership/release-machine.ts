/**
 * The end of a leadership, as pure transitions, and its explanation. The order is fixed:
 * `isValid()` becomes false, the work's signal aborts and the work drains, then the record and the
 * entry are removed. A leadership ends once, with the first reason.
 */

import { IncumbentError, isIncumbentError, textOfError } from '../base/errors.ts';
import type { SessionEnd, SessionEndReason } from '../lease/session.ts';
import type { Successor } from '../protocol/succession.ts';
import type { Remains } from '../protocol/transactions.ts';

/** Why a leadership ended: because its session ended, or for a reason of its own. */
export type LeadershipEndReason =
  | SessionEndReason
  /** The leader resigned. */
  | 'resigned'
  /** The work of `lead` threw an error, so the leader resigned. */
  | 'workFailed'
  /** `handover()` was called, or an operator requested a handover. */
  | 'handover'
  /** The leader stepped down because an operator requested it. */
  | 'steppedDown'
  /** Somebody deleted the leader's record. */
  | 'recordDeleted'
  /** Another member has the leader's record or the term. */
  | 'recordReplaced'
  /** Somebody deleted the leader's entry in the queue. */
  | 'entryDeleted'
  /** A fence has seen a newer term, so the store has lost terms. */
  | 'termBehind';

/** How a leadership ended, with the facts that may explain it. */
export interface LeadershipEnd extends Omit<SessionEnd, 'reason'> {
  /** The name of the election. */
  readonly election: string;
  readonly term: bigint;
  readonly reason: LeadershipEndReason;
  /**
   * False for `resigned`, `workFailed`, `handover`, `steppedDown` and `memberClosed`. True
   * otherwise.
   */
  readonly lost: boolean;
  /**
   * How long the work may still take to stop, in ms. The store certainly keeps the lease for this
   * long. 0 if the lease may have ended: the store has said so, or the machine or the process stood
   * still for too long.
   */
  readonly drainMs: number;
  /** With `termBehind`: the term that the fence reported. */
  readonly seenTerm?: bigint;
  /** With `workFailed`: what the work threw. */
  readonly error?: unknown;
}

/** The candidate that a leader hands its term over to. */
export interface ChosenSuccessor {
  readonly successor: Successor;
  /**
   * True if the leader has found the candidate some time ago, so it may have left the queue since.
   */
  readonly early: boolean;
}

/** The state of a leadership from its start until the store holds nothing of it. */
export type ReleaseState =
  | { readonly phase: 'leading' }
  /** Wait for the work to stop. */
  | { readonly phase: 'draining'; readonly reason: LeadershipEndReason; readonly chosen: ChosenSuccessor | undefined }
  /**
   * Make the swap that hands over. It names the successor's entry at the revision that was read.
   */
  | ({ readonly phase: 'handingOver' } & HandoverAttempt)
  /** The swap did not happen, or its outcome is unknown: read who holds the term. */
  | ({ readonly phase: 'checking' } & HandoverAttempt)
  /** The successor that was found early has left: read the queue to find another one. */
  | { readonly phase: 'looking'; readonly reason: LeadershipEndReason }
  /** Read the remaining keys of this term, or delete them. `reason` goes into the term's record. */
  | { readonly phase: 'releasing'; readonly reason: ReleaseReason; readonly remains: Remains | undefined }
  /**
   * `left`: the store refuses to remove the rest. The orphan cleaner tries again while the session
   * lives.
   */
  | { readonly phase: 'released'; readonly handoverFailed: boolean; readonly left: boolean };

interface HandoverAttempt extends ChosenSuccessor {
  /** Why the term ends. */
  readonly reason: LeadershipEndReason;
  readonly tries: number;
}

/** Why the keys of a term are deleted from the store. */
type ReleaseReason = LeadershipEndReason | 'handoverFailed';

/**
 * The reasons that a former leader writes into the term's record. For every other reason its
 * session has ended, so it writes nothing, and the store deletes its keys with its lease.
 */
export type WrittenReason = Exclude<ReleaseReason, Exclude<SessionEndReason, 'memberClosed'>>;

/** What happens to a leadership that ends. */
export type ReleaseEvent =
  | { readonly type: 'end'; readonly reason: LeadershipEndReason; readonly chosen?: ChosenSuccessor | undefined }
  /** `successor`: found in the queue while the work was stopping. */
  | { readonly type: 'drained'; readonly successor?: Successor | undefined }
  | { readonly type: 'swapped' }
  | { readonly type: 'notSwapped' }
  | { readonly type: 'failed'; readonly unknown: boolean }
  /** The store refuses the call, and would refuse a retry. */
  | { readonly type: 'refused' }
  | { readonly type: 'remains'; readonly remains: Remains }
  /**
   * `successor` is undefined if this leader no longer has the term, or the successor has left.
   */
  | { readonly type: 'checked'; readonly successorHasTerm: boolean; readonly successor: Successor | undefined }
  /** `successor` is undefined if no other candidate is in the queue. */
  | { readonly type: 'looked'; readonly successor: Successor | undefined }
  /**
   * The session has ended. The member revokes its lease after the drains, and its keys are deleted
   * with it.
   */
  | { readonly type: 'leaseOver' };

/** After this many swaps that failed although the keys had just been read, the leader resigns. */
const MAX_TRIES = 5;

/** Returns the state after an event. Events that do not belong to the state leave it unchanged. */
export function transition(state: ReleaseState, event: ReleaseEvent): ReleaseState {
  switch (state.phase) {
    case 'leading':
      return event.type === 'end' ? { phase: 'draining', reason: event.reason, chosen: event.chosen } : state;
    case 'draining':
      return event.type === 'drained' ? afterDrain(state, event.successor) : state;
    case 'handingOver':
      return handingOver(state, event);
    case 'checking':
      return checking(state, event);
    case 'looking':
      return looking(state, event);
    case 'releasing':
      return releasing(state, event);
    case 'released':
      return state;
    default:
      return state satisfies never;
  }
}

type In<P extends ReleaseState['phase']> = Extract<ReleaseState, { phase: P }>;

function afterDrain({ reason, chosen }: In<'draining'>, found: Successor | undefined): ReleaseState {
  if (chosen !== undefined) return { phase: 'handingOver', reason, ...chosen, tries: 1 };
  return found === undefined ? releaseWithoutSuccessor(reason) : { phase: 'handingOver', reason, successor: found, early: false, tries: 1 };
}

/**
 * Releases the keys without a successor. That is the failure of a handover, and no failure for any
 * other reason.
 */
function releaseWithoutSuccessor(reason: LeadershipEndReason): ReleaseState {
  return { phase: 'releasing', reason: reason === 'handover' ? 'handoverFailed' : reason, remains: undefined };
}

function handingOver(state: In<'handingOver'>, event: ReleaseEvent): ReleaseState {
  const { reason, early } = state;
  switch (event.type) {
    case 'swapped':
      return { phase: 'released', handoverFailed: false, left: false };
    case 'notSwapped':
      return early ? { phase: 'looking', reason } : { ...state, phase: 'checking' };
    case 'failed':
      return event.unknown ? { ...state, phase: 'checking' } : state;
    case 'refused':
      return early ? { phase: 'looking', reason } : releaseWithoutSuccessor(reason);
    default:
      return handoverStopped(state, event);
  }
}

function checking(state: In<'checking'>, event: ReleaseEvent): ReleaseState {
  if (event.type !== 'checked') return handoverStopped(state, event);
  const { reason, early, tries } = state;
  const { successorHasTerm, successor } = event;
  if (successorHasTerm) return { phase: 'released', handoverFailed: false, left: false };
  if (successor === undefined && early) return { phase: 'looking', reason };
  if (successor === undefined || tries === MAX_TRIES) return releaseWithoutSuccessor(reason);
  return { phase: 'handingOver', reason, successor, early: false, tries: tries + 1 };
}

function looking(state: In<'looking'>, event: ReleaseEvent): ReleaseState {
  if (event.type !== 'looked') return handoverStopped(state, event);
  const { reason } = state;
  if (event.successor === undefined) return releaseWithoutSuccessor(reason);
  return { phase: 'handingOver', reason, successor: event.successor, early: false, tries: 1 };
}

/** The events that stop a handover in all its phases. Others leave the state unchanged. */
function handoverStopped(state: In<'handingOver' | 'checking' | 'looking'>, event: ReleaseEvent): ReleaseState {
  const { reason } = state;
  switch (event.type) {
    case 'refused':
      return releaseWithoutSuccessor(reason);
    case 'leaseOver':
      return { phase: 'released', handoverFailed: reason === 'handover', left: false };
    default:
      return state;
  }
}

function releasing(state: In<'releasing'>, event: ReleaseEvent): ReleaseState {
  const handoverFailed = state.reason === 'handoverFailed';
  switch (event.type) {
    case 'remains':
      return { ...state, remains: event.remains };
    case 'swapped':
    case 'leaseOver':
      return { phase: 'released', handoverFailed, left: false };
    case 'refused':
      return { phase: 'released', handoverFailed, left: true };
    case 'notSwapped':
    case 'failed':
      return { ...state, remains: undefined };
    default:
      return state;
  }
}

/** The state in which the release of an orphan starts: keys that no campaign of the member uses. */
export const releaseOrphan: ReleaseState = { phase: 'releasing', reason: 'resigned', remains: undefined };

/** What each reason says about the leadership that ends. */
const reasons: Readonly<Record<LeadershipEndReason, { readonly lost: boolean; readonly leaseKept: boolean }>> = {
  deadline: { lost: true, leaseKept: true },
  leaseExpired: { lost: true, leaseKept: false },
  clockJump: { lost: true, leaseKept: false },
  replaced: { lost: true, leaseKept: true },
  memberClosed: { lost: false, leaseKept: true },
  resigned: { lost: false, leaseKept: true },
  workFailed: { lost: false, leaseKept: true },
  handover: { lost: false, leaseKept: true },
  steppedDown: { lost: false, leaseKept: true },
  recordDeleted: { lost: true, leaseKept: true },
  recordReplaced: { lost: true, leaseKept: true },
  entryDeleted: { lost: true, leaseKept: true },
  termBehind: { lost: true, leaseKept: true },
};

/** True if the leadership was lost rather than given up. */
export function isLoss(reason: LeadershipEndReason): boolean {
  return reasons[reason].lost;
}

/** True if the store certainly still keeps the lease when a leadership ends for this reason. */
export function isSurelyKept(reason: LeadershipEndReason): boolean {
  return reasons[reason].leaseKept;
}

/** A shorter block of the event loop explains nothing, in ms. */
const NOTABLE_BLOCK_MS = 100;

/**
 * The rest of the sentence "leadership of … ended". Example: "at its deadline: no renewal for
 * 6.0 s; the event loop was blocked for 5.9 s".
 */
export function explainEnd(end: LeadershipEnd): string {
  const cause = causeOf(end);
  return end.lost ? [cause, ...circumstances(end)].join('; ') : cause;
}

/** The error of calls and signals that a leadership's end ends. */
export function endError(end: LeadershipEnd): IncumbentError {
  const message = `leadership of "${end.election}" in term ${end.term} ended ${explainEnd(end)}`;
  return new IncumbentError('LEADERSHIP_ENDED', message, { details: { ...end } });
}

function causeOf({ reason, sinceRenewalMs, seenTerm, error }: LeadershipEnd): string {
  switch (reason) {
    case 'deadline':
      return `at its deadline: no renewal for ${seconds(sinceRenewalMs)}`;
    case 'leaseExpired':
      return `because the store ended its lease, which was last renewed ${seconds(sinceRenewalMs)} before`;
    case 'clockJump':
      return `because the machine was suspended or its clock was set forward: no renewal for ${seconds(sinceRenewalMs)} by that clock`;
    case 'replaced':
      return 'because another process took the member id';
    case 'memberClosed':
      return 'because its member was closed';
    case 'resigned':
      return 'because it resigned';
    case 'workFailed':
      return `because its work failed: ${textOfError(error)}`;
    case 'handover':
      return 'because it was handed over';
    case 'steppedDown':
      return 'because an operator made it step down';
    case 'recordDeleted':
      return "because the leader's record is gone: somebody deleted it, or ended its lease";
    case 'recordReplaced':
      return 'because another member has been elected';
    case 'entryDeleted':
      return 'because its entry in the queue is gone: somebody deleted it, or ended its lease';
    case 'termBehind':
      return `because a fence has seen the newer term ${seenTerm}`;
    default:
      return reason satisfies never;
  }
}

function circumstances({ loopBlockedMs, errors }: LeadershipEnd): readonly string[] {
  const last = errors.findLast((error) => isIncumbentError(error));
  return [
    ...(loopBlockedMs < NOTABLE_BLOCK_MS ? [] : [`the event loop was blocked for ${seconds(loopBlockedMs)}`]),
    ...(isIncumbentError(last) ? [`the store's last error was ${last.code}`] : []),
  ];
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
