/** The state of one member, as plain data. */

import type { Moment } from '@incumbent/core';
import type { AlgorithmState, Contact } from '../algorithm.ts';
import type { List } from './list.ts';

/** What a member knows about another member's heartbeats. */
export interface Watched {
  readonly heardAtMs: number;
  /** A silence of this length makes the member suspect. Infinity: this member does not watch it. */
  readonly limitMs: number;
  /** With `phi`: the intervals between its last heartbeats. */
  readonly intervalsMs: readonly number[];
  /**
   * Since when the member is under suspicion, because another member reported it or it did not
   * acknowledge an update. Undefined: it is not, or a message of it has arrived since.
   */
  readonly accusedAtMs: number | undefined;
  /** Whether the member campaigns, by its last message. */
  readonly standing: boolean;
}

/** An update that some members have not acknowledged yet. */
export interface Pending {
  readonly version: number;
  readonly sentAtMs: number;
  readonly untilMs: number;
  /** Keys of the members that have not acknowledged the update. */
  readonly waitingFor: readonly string[];
  /** Keys of the new members. They receive the list when the update is complete. */
  readonly joiners: readonly string[];
}

/** A process that asks to join. */
export interface Joiner extends Contact {
  readonly incarnation: number;
  readonly standing: boolean;
}

interface Coordinating {
  readonly kind: 'coordinating';
  readonly pending: Pending | undefined;
  readonly joiners: readonly Joiner[];
  /** Keys of the members that have announced that they leave. */
  readonly leaving: readonly string[];
  /** With `majority`: since when it has suspected a member that it has not removed yet. */
  readonly missingSinceMs: number | undefined;
}

/** This member claims the coordinator's role, and asks all other members first. */
interface Claiming {
  readonly kind: 'claiming';
  readonly claim: number;
  readonly untilMs: number;
  readonly waitingFor: readonly string[];
  /** Keys of the members that will stay in the list. */
  readonly agreed: readonly string[];
  readonly isRefused: boolean;
  /** The newest list that any member has. */
  readonly newest: List;
  readonly highest: number;
}

export type Role = { readonly kind: 'following' } | Coordinating | Claiming;

export interface Present {
  readonly kind: 'present';
  readonly list: List;
  /** One entry per member of the list, in the list's order. */
  readonly watch: readonly Watched[];
  /** The indexes in the list of the members to which this one sends heartbeats. */
  readonly targets: readonly number[];
  /**
   * If heartbeats go to some successors only: since when this member has suspected the coordinator.
   */
  readonly missingSinceMs: number | undefined;
  readonly role: Role;
}

export interface Joining {
  readonly kind: 'joining';
  readonly attempt: number;
  readonly untilMs: number;
  /**
   * The members to ask besides the seeds: former fellow members, and coordinators that other
   * members have named.
   */
  readonly contacts: readonly Contact[];
  /** Ids of the members asked in this attempt. */
  readonly asked: readonly string[];
  /** Whether a cluster has answered in this attempt. */
  readonly isHeard: boolean;
  /** Ids of the processes that might found a cluster, as heard in this attempt. */
  readonly founders: readonly string[];
  /**
   * The member's last list. Undefined: it has not been a member before. A former member does not
   * give up.
   */
  readonly former: List | undefined;
}

type Phase = { readonly kind: 'waiting' } | Joining | Present;

/** The state of a member. Only its algorithm reads the fields. */
export interface EmergentState extends AlgorithmState {
  readonly memberId: string;
  readonly address: string;
  readonly seeds: readonly Contact[];
  readonly incarnation: number;
  readonly phase: Phase;
  /** Whether the member campaigns. */
  readonly standing: boolean;
  /** The round that this member leads. Undefined: it does not lead. */
  readonly leading: number | undefined;
  /** The last round that this member led. */
  readonly ledRound: number;
  /**
   * Until when the member keeps its place in the order although it does not campaign: its work may
   * have to stop first.
   */
  readonly keepUntilMs: number;
  /**
   * How long the member keeps its place after its work has stopped, in ms. A member that lost its
   * leadership because it was paused usually campaigns again.
   */
  readonly keepOnMs: number;
  /** When the member sent its last heartbeats. */
  readonly beatAt: Moment;
  readonly beatAtMs: number;
  readonly pullAtMs: number;
  readonly searchAtMs: number;
  /**
   * The number of the current search. The member ignores an invitation that answers an earlier one.
   */
  readonly search: number;
  /** Other coordinators, or their members, that this member has heard of. */
  readonly strangers: readonly Contact[];
  /** When the list that this coordinator keeps last lost a member. */
  readonly lostAtMs: number;
  readonly claims: number;
  /** The newest version that this member has seen. */
  readonly seenVersion: number;
  /** When this member made its last step. */
  readonly stepAtMs: number;
  readonly seed: number;
}
