/**
 * Explains why a leadership ended, for the message of its error and the `why` of its event.
 */

import { IncumbentError, isIncumbentError } from '../base/errors.ts';
import type { LeadershipEnd } from './release-machine.ts';

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
      return `because its work failed: ${String(error)}`;
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
