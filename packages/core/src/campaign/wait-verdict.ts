/** Decides whether what a waiting candidate knows ends its wait. */

import { isEndedTermOf, isTermOf } from '../protocol/transactions.ts';
import type { Entry, Key, StoreCapabilities } from '../store/contract.ts';
import type { CandidateEvent } from './state.ts';

/** What a waiting candidate knows. */
export interface Known {
  /** The key that it waits for. */
  readonly aheadKey: Key;
  /** The key of its own entry. */
  readonly entryKey: Key;
  /** True if the key that it waits for is gone. */
  readonly aheadGone: boolean;
  /** True if the leader's record is its own. */
  readonly recordIsOwn: boolean;
  /** What has happened to its own entry. */
  readonly ownEvent: CandidateEvent['type'] | undefined;
  /** The entry of the key `term`, if a watch has shown it. */
  readonly termEntry: Entry | undefined;
  /** True if the key `term` is watched. */
  readonly followsTerm: boolean;
  readonly capabilities: Pick<StoreCapabilities, 'assignableLease' | 'revisionInSwap'>;
}

/**
 * `wait`: nothing ends the wait. `endNow`: the wait is over, and no watch can say more. `endSoon`:
 * the wait is over, but the watches of several keys may show the changes of one swap one after the
 * other, and the next one may say more: the mark in its own entry, the end of the term of the one
 * ahead, or the new term. After a crash, there is no other change.
 */
export function verdictOn(known: Known): 'wait' | 'endSoon' | 'endNow' {
  const { aheadKey, entryKey, aheadGone, recordIsOwn, ownEvent, termEntry, followsTerm, capabilities } = known;
  if (ownEvent === 'removed' || isEndedTermOf(termEntry, aheadKey)) return 'endNow';
  const termIsOwn = isTermOf(termEntry, entryKey);
  if (ownEvent !== undefined) {
    // Where each key of a swap has its own revision, the mark in its own entry is certain only with
    // the term, which a handover in one swap writes as well.
    const { assignableLease, revisionInSwap } = capabilities;
    const needsTerm = assignableLease && revisionInSwap === undefined;
    return needsTerm && followsTerm && !termIsOwn ? 'endSoon' : 'endNow';
  }
  // The mark in its own entry may follow.
  if (recordIsOwn) return 'endSoon';
  if (!aheadGone) return 'wait';
  // The end of the term may follow, or the mark. Any other term rules out both.
  return followsTerm && (termEntry === undefined || termIsOwn || isTermOf(termEntry, aheadKey)) ? 'endSoon' : 'endNow';
}
