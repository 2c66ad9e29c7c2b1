/** One member of an election by best effort, as plain data. */

import type { Moment } from '@incumbent/core';
import type { AlgorithmState } from '../algorithm.ts';
import type { Failure, Say } from './message.ts';

/** Somebody else who leads, as this member has heard it last. */
export interface Heard {
  readonly id: string;
  readonly round: number;
  readonly weight: number;
  readonly atMs: number;
  /** Whether it has said so itself; else another member has. */
  readonly byItself: boolean;
  readonly successors: readonly string[];
}

/** What a follower answered last. */
export interface Follower {
  readonly id: string;
  readonly standing: boolean;
  readonly atMs: number;
}

interface Leading {
  readonly round: number;
  /** The sending of its newest heartbeat: belief counts from there. */
  readonly announcedAt: Moment;
  readonly heartbeatAtMs: number;
  readonly followers: readonly Follower[];
}

/** Somebody that has been asked, and is there. */
export interface Answer {
  readonly id: string;
  readonly standing: boolean;
  readonly weight: number;
}

/** An election that this member holds. */
export type Election = {
  /** What happens then is the algorithm's. */
  readonly untilMs: number;
} & (
  | { readonly kind: 'asking'; readonly asked: readonly string[]; readonly answers: readonly Answer[] }
  /** The best of those that answered has been told so; `rest`: those after it. */
  | { readonly kind: 'granting'; readonly best: string; readonly rest: readonly string[] }
  | { readonly kind: 'line'; readonly asked: string; readonly rest: readonly string[] }
  | { readonly kind: 'ring'; readonly attempt: number }
);

/** A token of the ring that has been sent on, and is not yet known to have arrived. */
export interface Passing {
  readonly token: Say<'collect'> | Say<'announce'>;
  readonly to: string;
  readonly untilMs: number;
}

export interface Fading extends Failure {
  readonly atMs: number;
}

export interface BestEffortState extends AlgorithmState {
  readonly memberId: string;
  /** Whether it would lead. */
  readonly standing: boolean;
  /**
   * It has given leadership up, and lets others go before it until it knows of no leader for a
   * while.
   */
  readonly standsBack: boolean;
  /** The newest round that it knows of; 0: none. */
  readonly round: number;
  readonly leading: Leading | undefined;
  /** The newest round that it has led; 0: none. */
  readonly ledRound: number;
  /**
   * The leadership that it has given up or lost, until its work has stopped and others have been
   * told.
   */
  readonly led: { readonly round: number; readonly group: readonly string[] } | undefined;
  /** Others that lead, and have been heard lately. */
  readonly leaders: readonly Heard[];
  /** Those that have given up lately: what else comes of these rounds was said before. */
  readonly over: readonly { readonly id: string; readonly round: number; readonly atMs: number }[];
  /** The leader that was lost last. */
  readonly lost: Heard | undefined;
  /** When it begins an election, unless it hears a leader. */
  readonly electAtMs: number | undefined;
  readonly election: Election | undefined;
  readonly failures: readonly Fading[];
  /** Ring only. */
  readonly passing: readonly Passing[];
  /** Ring only: the tokens that it has seen last. */
  readonly seen: readonly string[];
  /** Invitation only: when it invites others. */
  readonly inviteAtMs: number | undefined;
  readonly seed: number;
}
