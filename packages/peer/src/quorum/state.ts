/** The state of one member, as plain data. */

import type { Moment } from '@incumbent/core';
import type { AlgorithmState, Position } from '../algorithm.ts';

/** A round of heartbeats. If a majority answers it, the leadership is valid from its sending. */
interface SentRound {
  readonly round: number;
  readonly sentAt: Moment;
}

/** The latest answer of a follower. */
export interface Follower {
  readonly round: number;
  readonly position: Position;
  readonly standing: boolean;
}

interface Leading {
  readonly kind: 'leading';
  readonly sinceMs: number;
  /** The rounds from `vouched` on, oldest first. */
  readonly sent: readonly SentRound[];
  readonly followers: Readonly<Record<string, Follower>>;
  /**
   * The newest round that a majority has answered, this member included. Undefined: none yet, so
   * the leadership is not valid yet.
   */
  readonly vouched: SentRound | undefined;
  readonly heartbeatAtMs: number;
}

/**
 * The latest answer of a follower. Undefined: it has not answered. An id such as `constructor` is
 * also the name of a property that every object inherits.
 */
export function followerOf({ followers }: Pick<Leading, 'followers'>, id: string): Follower | undefined {
  return Object.hasOwn(followers, id) ? followers[id] : undefined;
}

/**
 * With `highest-rank`: whether a member that polls has claimed its higher rank, which means that it
 * has refused a member of a lower rank and has then polled. `failed`: such a poll has got no
 * majority within an election timeout.
 */
export type RankClaim = 'none' | 'made' | 'failed';

/** A member that asks whether it would win. */
interface Polling {
  readonly kind: 'polling';
  readonly poll: number;
  /** The members that have answered this poll. */
  readonly answered: readonly string[];
  /** Those of them that would vote for this member. */
  readonly granted: readonly string[];
  readonly rank: RankClaim;
}

type Role =
  /** `leader`: the leader of the present term, as far as this member knows. */
  | { readonly kind: 'following'; readonly leader: string | undefined }
  | Polling
  | { readonly kind: 'voting'; readonly granted: readonly string[] }
  | Leading;

/** The state of a member. Only its algorithm reads the fields. */
export interface QuorumState extends AlgorithmState {
  readonly memberId: string;
  /** Persisted. */
  readonly term: bigint;
  /** Persisted. */
  readonly votedFor: string | undefined;
  /**
   * Persisted. The longest promise that may still count: one of this process, or, until
   * `holdUntilMs`, one of an earlier process, in ms. 0: none was saved.
   */
  readonly promiseMs: number;
  readonly role: Role;
  /** Whether the member campaigns. */
  readonly standing: boolean;
  /** The newest term whose leadership this member gave up or lost. 0n: none. */
  readonly ledTerm: bigint;
  /**
   * The member votes for nobody before this time: it does not know what it promised before its
   * start.
   */
  readonly holdUntilMs: number;
  /** The member votes for nobody before this time, itself included: it has heard a leader. */
  readonly promisedUntilMs: number;
  /** When the member campaigns, or at least forgets the leader, unless it hears a leader before. */
  readonly electionAtMs: number;
  readonly polls: number;
  readonly seed: number;
}
