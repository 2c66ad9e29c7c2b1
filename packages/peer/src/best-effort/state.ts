/** The state of one member of a best-effort election, as plain data. */

import type { Moment } from '@incumbent/core';
import type { AlgorithmState } from '../algorithm.ts';
import type { Failure, MessageOf } from './message.ts';

/** Another leader, as this member knows it. */
export interface Heard {
  readonly id: string;
  readonly round: number;
  readonly weight: number;
  readonly atMs: number;
  /** Whether the leader announced itself. False: another member announced it. */
  readonly byItself: boolean;
  readonly successors: readonly string[];
}

/** A follower's last answer. */
export interface Follower {
  readonly id: string;
  readonly standing: boolean;
  readonly atMs: number;
}

interface Leading {
  readonly round: number;
  /** When the leader sent its newest heartbeats. Its leadership is valid from then on. */
  readonly announcedAt: Moment;
  readonly heartbeatAtMs: number;
  readonly followers: readonly Follower[];
}

/** The answer of a member that is alive. */
export interface Answer {
  readonly id: string;
  readonly standing: boolean;
  readonly weight: number;
}

/** An election that this member runs. */
export type Election = {
  /** The end of the wait for answers. The algorithm decides what happens then. */
  readonly untilMs: number;
} & (
  | { readonly kind: 'asking'; readonly asked: readonly string[]; readonly answers: readonly Answer[] }
  /** The best member that answered has been asked to lead. `rest`: the members after it. */
  | { readonly kind: 'granting'; readonly best: string; readonly rest: readonly string[] }
  | { readonly kind: 'line'; readonly asked: string; readonly rest: readonly string[] }
  | { readonly kind: 'ring'; readonly attempt: number }
);

/**
 * A token of the ring that this member has forwarded and the next member has not acknowledged yet.
 */
export interface Passing {
  readonly token: MessageOf<'collect'> | MessageOf<'announce'>;
  readonly to: string;
  readonly untilMs: number;
}

export interface Fading extends Failure {
  readonly atMs: number;
}

/** The state of a member. Only its algorithm reads the fields. */
export interface BestEffortState extends AlgorithmState {
  readonly memberId: string;
  /** Whether the member campaigns. */
  readonly standing: boolean;
  /**
   * Whether the member has given up its leadership, and lets other members lead first. Ends when it
   * knows of no leader for a while.
   */
  readonly standsBack: boolean;
  /** The newest round that this member knows. 0: none. */
  readonly round: number;
  readonly leading: Leading | undefined;
  /** The newest round that this member has led. 0: none. */
  readonly ledRound: number;
  /**
   * The leadership that has ended, until the work has stopped and the member has informed the
   * others.
   */
  readonly led: { readonly round: number; readonly group: readonly string[] } | undefined;
  /** The other leaders that this member has heard lately. */
  readonly leaders: readonly Heard[];
  /**
   * The leaders that have resigned lately. A message of such a round was sent before the
   * resignation.
   */
  readonly resigned: readonly { readonly id: string; readonly round: number; readonly atMs: number }[];
  /** The leader that was the last to fail or to resign. */
  readonly lost: Heard | undefined;
  /** When this member starts an election, unless it hears a leader. Undefined: never. */
  readonly electAtMs: number | undefined;
  readonly election: Election | undefined;
  readonly failures: readonly Fading[];
  /** Ring only. */
  readonly passing: readonly Passing[];
  /** Ring only: the tokens that this member received last. */
  readonly seen: readonly string[];
  /** Invitation only: when this leader next invites other members. */
  readonly inviteAtMs: number | undefined;
  readonly seed: number;
}
