/**
 * The states of a campaign, its events, and its ends. The transitions are in `campaign-machine.ts`.
 */

import type { ElectionKeys } from '../protocol/keys.ts';
import type { Succession } from '../protocol/succession.ts';
import type { Claim, Won } from '../protocol/transactions.ts';
import type { Entry, Key, Revision, StoreCapabilities } from '../store/contract.ts';

/** The parameters of a campaign. */
export interface CandidateRules {
  readonly keys: ElectionKeys;
  readonly succession: Succession;
  /** Terms up to this one count as issued. */
  readonly termFloor: bigint;
  /** The highest term that this member has seen. */
  readonly seenTerm: bigint;
  /**
   * True if the first term, also after the store has lost its data, comes from the entry's `order`:
   * a time of the store's clock.
   */
  readonly termsFromClock?: boolean;
  /** The store's capability. */
  readonly revisionInSwap?: StoreCapabilities['revisionInSwap'];
}

/** Why a campaign ended without a term. */
export type Exit =
  /**
   * The caller gave up, or does not wait. The entry is deleted, and the store can apply no claim of
   * it any more.
   */
  | { readonly why: 'stopped' }
  /** Somebody deleted the entry. The member joins the queue again at the end. */
  | { readonly why: 'removed' }
  /**
   * Somebody deleted the entry after a handover had elected it. Its record must be removed first.
   */
  | { readonly why: 'orphaned'; readonly entry: Entry }
  | { readonly why: 'failed'; readonly error: unknown };

/** The phase of a campaign, which says what call to make next, and what the candidate knows. */
export type CandidateState =
  /**
   * Enqueue. `unknownOutcome`: the store may have applied an earlier enqueue, or may still apply
   * it.
   */
  | { readonly phase: 'joining'; readonly unknownOutcome: boolean }
  /**
   * Read the queue. `unknownOutcome`: the store may have applied an earlier claim, or may still
   * apply it; or a handover may have elected the entry of an earlier enqueue. `goneAhead`: the
   * entry right ahead, which has gone, so read the term alone. If that entry holds the term, and
   * nobody else was ahead of it when the term began, nobody is ahead now.
   */
  | {
      readonly phase: 'looking';
      readonly entry: Entry;
      readonly unknownOutcome: boolean;
      readonly passed?: Passed;
      readonly goneAhead?: Key;
    }
  /** Wait for one key to go, or for another event. */
  | { readonly phase: 'waiting'; readonly entry: Entry; readonly unknownOutcome: boolean; readonly wait: Wait }
  | { readonly phase: 'claiming'; readonly entry: Entry; readonly unknownOutcome: boolean; readonly claim: Claim }
  /**
   * Read `term`, unless it is known, and then `leader`, to find out whether this candidate is
   * elected. `exit`: leave if it is not. `entryGone`: the entry is deleted. `secondRead`: the first
   * read has shown this candidate's record under a term that is not its own.
   */
  | {
      readonly phase: 'confirming';
      readonly entry: Entry;
      readonly exit?: Exit;
      readonly entryGone?: boolean;
      readonly secondRead?: boolean;
      readonly termEntry?: Entry | undefined;
    }
  /**
   * Delete this candidate's entry. After that the store can apply no claim of it. Without an entry,
   * find it first by another enqueue.
   */
  | { readonly phase: 'withdrawing'; readonly entry: Entry | undefined; readonly unknownOutcome: boolean; readonly exit: Exit }
  /** Wait for the backoff, then go on with the state `then`. */
  | { readonly phase: 'pausing'; readonly then: CandidateState }
  | { readonly phase: 'elected'; readonly won: Won }
  | { readonly phase: 'out'; readonly exit: Exit };

/** Candidates ahead that this one no longer waits for: a successor, or the whole queue. */
export type Passed = { readonly successorOf: bigint } | 'queue';

/** What a waiting candidate waits for. */
export type Wait =
  /**
   * Behind this entry, a candidate's or the leader's. `isNextInLine`: no other candidate is between
   * that entry and this one, except the leader, and no later candidate can go first.
   */
  | { readonly for: 'ahead'; readonly key: Key; readonly position: number; readonly isNextInLine: boolean }
  /** The record of a leader whose entry is gone. */
  | { readonly for: 'leader'; readonly key: Key }
  /** The successor of a handover claims first, for `successorClaimTimeoutMs`. */
  | { readonly for: 'successor'; readonly key: Key; readonly term: bigint };

/**
 * The candidate has read the queue and the term. `queue` is undefined if only the term was read.
 * `ownEntry`: its entry as the watch last showed it, which may be older or newer than the read.
 */
interface Looked {
  readonly type: 'looked';
  readonly queue: readonly Entry[] | undefined;
  readonly termEntry: Entry | undefined;
  readonly ownEntry?: Entry | undefined;
}

/** The candidate has read the queue, or knows that it is empty, and not only the term. */
export type LookedAround = Looked & { readonly queue: readonly Entry[] };

/** The result of a call, or what a watch, a timer or the caller reports. */
export type CandidateEvent =
  | { readonly type: 'enqueued'; readonly entry: Entry }
  | Looked
  /**
   * The wait is over: the awaited key is gone, or the one ahead has ended its term; the leader's
   * record has become this candidate's; the caller gave up; or the session has ended. `termEntry`:
   * the term's entry, if a watch has shown it.
   */
  | { readonly type: 'woke'; readonly termEntry?: Entry | undefined }
  /** The awaited key is still there, and it is time to read the queue again. */
  | { readonly type: 'due' }
  /** Those ahead have not claimed in time. */
  | { readonly type: 'claimTimedOut' }
  /**
   * This candidate's entry has changed: a handover has marked it, or an operator has changed it.
   * `termEntry`: the term's entry, if a watch has shown it.
   */
  | { readonly type: 'entryChanged'; readonly entry: Entry; readonly termEntry?: Entry | undefined }
  /** This candidate's entry was deleted. */
  | { readonly type: 'removed' }
  /** `termValue`: the term's record as the claim wrote it. */
  | { readonly type: 'swapped'; readonly revisions: readonly (Revision | undefined)[]; readonly termValue?: Uint8Array | undefined }
  | { readonly type: 'notSwapped'; readonly failed: readonly { readonly index: number; readonly current: Entry | undefined }[] }
  | { readonly type: 'read'; readonly termEntry: Entry | undefined; readonly leaderEntry: Entry | undefined }
  | { readonly type: 'paused' }
  /** The call failed and may be retried. `unknown`: the store may have applied it, or may still. */
  | { readonly type: 'failed'; readonly unknown: boolean }
  /** The call failed, and a retry would fail alike. */
  | { readonly type: 'fatal'; readonly error: unknown }
  /** The caller gave up, or does not wait. Delivered between calls, never during one. */
  | { readonly type: 'stop' };
