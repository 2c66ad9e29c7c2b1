/** One member, as plain data. */

import type { Moment } from '@incumbent/core';
import type { AlgorithmState, Contact } from '../algorithm.ts';
import type { List } from './list.ts';

/** What a member makes of another one's silence. */
export interface Watched {
  readonly heardAtMs: number;
  /** Silence for longer is suspect; infinite: it is not this member's to watch. */
  readonly limitMs: number;
  /** With `phi`: the times between its last heartbeats. */
  readonly intervalsMs: readonly number[];
  /**
   * Since when it is said to be gone: by another member, or as it did not acknowledge; until it is
   * heard again.
   */
  readonly accusedAtMs: number | undefined;
  /** Whether it would lead, as it said last. */
  readonly standing: boolean;
}

/** An update that is not yet acknowledged by all. */
export interface Pending {
  readonly version: number;
  readonly sentAtMs: number;
  readonly untilMs: number;
  /** Keys of those whose word is missing. */
  readonly waitingFor: readonly string[];
  /** Keys of those who are told that they are let in when it is over. */
  readonly joiners: readonly string[];
}

/** Somebody who asks to be let in. */
export interface Joiner extends Contact {
  readonly incarnation: number;
  readonly standing: boolean;
}

interface Coordinating {
  readonly kind: 'coordinating';
  readonly pending: Pending | undefined;
  readonly joiners: readonly Joiner[];
  /** Keys of members that have said that they leave. */
  readonly leaving: readonly string[];
  /** With `majority`: when it first missed somebody whom it has not removed yet. */
  readonly missingSinceMs: number | undefined;
}

/** It would rule, and asks everybody first. */
interface Claiming {
  readonly kind: 'claiming';
  readonly claim: number;
  readonly untilMs: number;
  readonly waitingFor: readonly string[];
  /** Keys of those that stay with it. */
  readonly agreed: readonly string[];
  readonly isRefused: boolean;
  /** The newest list that anybody has. */
  readonly newest: List;
  readonly highest: number;
}

export type Role = { readonly kind: 'following' } | Coordinating | Claiming;

export interface Present {
  readonly kind: 'present';
  readonly list: List;
  /** As many as the list has members, in its order. */
  readonly watch: readonly Watched[];
  /** Where in the list are those to whom it sends heartbeats. */
  readonly targets: readonly number[];
  /** On a ring: since when it misses the coordinator. */
  readonly missingSinceMs: number | undefined;
  readonly role: Role;
}

export interface Joining {
  readonly kind: 'joining';
  readonly attempt: number;
  readonly untilMs: number;
  /** Whom it asks besides the seeds: whoever it has been a member with, or was sent to. */
  readonly contacts: readonly Contact[];
  /** Ids that were asked in this attempt. */
  readonly asked: readonly string[];
  /** Whether it has heard of a cluster in this attempt. */
  readonly isHeard: boolean;
  /** Ids of those that would found one, in this attempt. */
  readonly founders: readonly string[];
  /**
   * The list of its last stay; undefined: it has not been a member. A former member does not give
   * up.
   */
  readonly former: List | undefined;
}

type Phase = { readonly kind: 'waiting' } | Joining | Present;

export interface EmergentState extends AlgorithmState {
  readonly memberId: string;
  readonly address: string;
  readonly seeds: readonly Contact[];
  readonly incarnation: number;
  readonly phase: Phase;
  /** Whether it would lead. */
  readonly standing: boolean;
  /** The round that it leads; undefined: it does not. */
  readonly leading: number | undefined;
  /** The last round that it led. */
  readonly ledRound: number;
  /** It keeps its place until then, though it does not stand: its work may have to stop first. */
  readonly keepUntilMs: number;
  /**
   * For how long it keeps it after its work has stopped: whoever lost belief by standing still
   * mostly stands again.
   */
  readonly keepOnMs: number;
  /** When it sent heartbeats last. */
  readonly beatAt: Moment;
  readonly beatAtMs: number;
  readonly pullAtMs: number;
  readonly searchAtMs: number;
  /**
   * The number of the search that is under way: an invitation that answers another one comes too
   * late.
   */
  readonly search: number;
  /** Coordinators of others, or members of theirs, that it has heard of. */
  readonly strangers: readonly Contact[];
  /** When the list that it keeps lost somebody last. */
  readonly lostAtMs: number;
  readonly claims: number;
  /** The newest version that it has seen. */
  readonly seenVersion: number;
  /** When it made a step last. */
  readonly stepAtMs: number;
  readonly seed: number;
}
