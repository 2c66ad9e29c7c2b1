/** What a campaign can be in, what can happen to it, and how it ends: the vocabulary of `machine.ts`. */

import type { ElectionKeys } from '../protocol/keys.ts';
import type { Succession } from '../protocol/succession.ts';
import type { Claim, Won } from '../protocol/transactions.ts';
import type { Entry, Key, Revision } from '../store/contract.ts';

/** What stays the same throughout a campaign. */
export interface CandidateRules {
  readonly keys: ElectionKeys;
  readonly succession: Succession;
  /** Terms up to this one are taken to be issued already. */
  readonly termFloor: bigint;
  /** Where there is no term yet, or none any more, the first one follows the order of whoever claims it: a time of the store's clock. */
  readonly termsFromClock?: boolean;
}

/** Why a campaign is over without a term. */
export type Exit =
  /** It was asked to stop; its entry is gone, and no claim of it can still be applied. */
  | { readonly why: 'stopped' }
  /** Its entry was taken away; join again at the end. */
  | { readonly why: 'removed' }
  /** The same, and somebody had elected it before: what that left in the store must go first. */
  | { readonly why: 'orphaned'; readonly entry: Entry }
  | { readonly why: 'failed'; readonly error: unknown };

export type CandidateState =
  /** Enqueue. `unknownOutcome`: an earlier try may have been applied, or may yet be. */
  | { readonly phase: 'joining'; readonly unknownOutcome: boolean }
  /**
   * Read who is ahead. `unknownOutcome`: an earlier claim may have been applied, or may yet be; or a handover have elected what an earlier try enqueued. `after`: whoever
   * was right before me has gone, so read the term alone: if it led as the first, nobody is ahead.
   */
  | { readonly phase: 'looking'; readonly entry: Entry; readonly unknownOutcome: boolean; readonly passed?: Passed; readonly after?: Key }
  /** Wait for one key to go, or for what else wakes. */
  | { readonly phase: 'waiting'; readonly entry: Entry; readonly unknownOutcome: boolean; readonly wait: Wait }
  | { readonly phase: 'claiming'; readonly entry: Entry; readonly unknownOutcome: boolean; readonly claim: Claim }
  /** Read `term`, unless it was just read or told, and then `leader`: am I elected? `exit`: leave if not. `seen`: the record was mine, the term not. */
  | {
      readonly phase: 'confirming';
      readonly entry: Entry;
      readonly exit?: Exit;
      readonly gone?: boolean;
      readonly seen?: boolean;
      readonly term?: Entry | undefined;
    }
  /** Delete my entry: the barrier after which no claim of mine can be applied. Without an entry, find it first (enqueue again). */
  | { readonly phase: 'withdrawing'; readonly entry: Entry | undefined; readonly unknownOutcome: boolean; readonly exit: Exit }
  /** Wait a little, then go on. */
  | { readonly phase: 'pausing'; readonly then: CandidateState }
  | { readonly phase: 'elected'; readonly won: Won }
  | { readonly phase: 'out'; readonly exit: Exit };

/** Somebody who goes before, and whom this candidate no longer waits for. */
export type Passed = { readonly successorOf: bigint } | 'queue';

export type Wait =
  /** Behind this entry: a candidate's, or the leader's. `next`: nobody joined between it and me, or whoever did is the leader. */
  | { readonly for: 'ahead'; readonly key: Key; readonly position: number; readonly next: boolean }
  /** The record of a leader whose entry is gone. */
  | { readonly for: 'leader'; readonly key: Key }
  /** The successor of a handover has the first try, for a while. */
  | { readonly for: 'successor'; readonly key: Key; readonly term: bigint };

export type CandidateEvent =
  | { readonly type: 'enqueued'; readonly entry: Entry }
  /** `queue` is undefined where the term alone was read. `own`: my entry, as the watch told last, which may be older or newer than what was read. */
  | {
      readonly type: 'looked';
      readonly queue: readonly Entry[] | undefined;
      readonly term: Entry | undefined;
      readonly own?: Entry | undefined;
    }
  /** What was waited for has gone. `term`: the term's key, where a watch has told of it. */
  | { readonly type: 'woke'; readonly term?: Entry | undefined }
  /** What was waited for is there, and the slow look-round is due. */
  | { readonly type: 'due' }
  /** Time is up for those ahead. */
  | { readonly type: 'claimTimedOut' }
  /** My entry was changed by somebody: a handover names its successor there. `term`: the term's key, where a watch has told of it. */
  | { readonly type: 'handedOver'; readonly entry: Entry; readonly term?: Entry | undefined }
  /** My entry is no longer there. */
  | { readonly type: 'removed' }
  /** `termValue`: what a claim wrote as the term's record. */
  | { readonly type: 'swapped'; readonly revisions: readonly (Revision | undefined)[]; readonly termValue?: Uint8Array | undefined }
  | { readonly type: 'notSwapped'; readonly failed: readonly { readonly index: number; readonly current: Entry | undefined }[] }
  | { readonly type: 'read'; readonly term: Entry | undefined; readonly leader: Entry | undefined }
  | { readonly type: 'paused' }
  /** The call failed and is worth trying again. `unknown`: it may have happened, or may yet. */
  | { readonly type: 'failed'; readonly unknown: boolean }
  /** The call failed for good. */
  | { readonly type: 'fatal'; readonly error: unknown }
  /** The caller gave up. Delivered between calls, never in the middle of one. */
  | { readonly type: 'stop' };
