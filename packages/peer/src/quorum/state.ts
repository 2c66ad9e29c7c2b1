/** One member of a vote, as plain data. */

import type { Moment } from '@incumbent/core';
import type { AlgorithmState, Position } from '../algorithm.ts';

/** A round of heartbeats that may still become the one that belief counts from. */
interface SentRound {
  readonly round: number;
  readonly sentAt: Moment;
}

/** What a follower answered last. */
export interface Follower {
  readonly round: number;
  readonly position: Position;
  readonly standing: boolean;
}

interface Leading {
  readonly kind: 'leading';
  readonly sinceMs: number;
  /** Sent, oldest first; from the one that belief counts from. */
  readonly sent: readonly SentRound[];
  readonly followers: Readonly<Record<string, Follower>>;
  /**
   * The newest round that a majority has answered, its own answer included; undefined: none yet, so
   * no belief.
   */
  readonly vouched: SentRound | undefined;
  readonly heartbeatAtMs: number;
}

type Role =
  /** `leader`: whoever leads its term, as far as it has heard. */
  | { readonly kind: 'following'; readonly leader: string | undefined }
  | { readonly kind: 'polling'; readonly poll: number; readonly granted: readonly string[] }
  | { readonly kind: 'voting'; readonly granted: readonly string[] }
  | Leading;

export interface QuorumState extends AlgorithmState {
  readonly memberId: string;
  /** Persisted. */
  readonly term: bigint;
  /** Persisted. */
  readonly votedFor: string | undefined;
  readonly role: Role;
  /** Whether it would lead. */
  readonly standing: boolean;
  /** The newest term that it led and gave up or lost; 0n: none. */
  readonly ledTerm: bigint;
  /** It votes for nobody before: what its former self promised, it does not know. */
  readonly holdUntilMs: number;
  /** It votes for nobody before, nor for itself: it has heard a leader. */
  readonly promisedUntilMs: number;
  /** When it stands for election, or at least forgets who leads, unless it hears a leader. */
  readonly electionAtMs: number;
  readonly polls: number;
  readonly seed: number;
}
