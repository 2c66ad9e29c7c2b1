/**
 * The types of an election without a store. An algorithm decides; a driver acts. An algorithm is
 * pure: `step(state, input)` returns the next state and the outputs of that step, and reads no
 * clock, no random numbers and no network. So the same code runs in production, in a simulation,
 * and in an exhaustive search. (etcd-io/raft and Kafka's KRaft have the same form, known as
 * sans-IO.)
 */

import type { Moment } from '@incumbent/core';

/**
 * `quorum`: at most one leader per term. `bestEffort`: under a partition, or after a wrong guess of
 * who is alive, there may be several leaders.
 */
export type Safety = 'quorum' | 'bestEffort';

/** The number of a leadership that excludes all others. A `Fence` accepts it. */
export type TermOf<S extends Safety> = S extends 'quorum' ? bigint : undefined;
/**
 * The number of a leadership that excludes no other. It hints at which of two leaderships is newer.
 * Its type differs from a term's, so no `Fence` accepts it.
 */
export type RoundOf<S extends Safety> = S extends 'bestEffort' ? number : undefined;

/**
 * How far the application's data reach, for a leader that must have all of them. Compared by
 * `lastTerm`, then by `lastIndex`. Both are from 0n to `2n ** 63n - 1n`.
 */
export interface Position {
  readonly lastTerm: bigint;
  readonly lastIndex: bigint;
}

/** The leadership that a member holds, and how long it stays valid. */
export interface Validity<S extends Safety> {
  readonly term: TermOf<S>;
  readonly round: RoundOf<S>;
  /**
   * The moment, on the driver's clocks, from which the other members vouch for the leadership. By
   * best effort: the moment at which this member last announced that it leads.
   */
  readonly from: Moment;
  /** How long the leadership is valid after `from`, in ms. */
  readonly forMs: number;
  /**
   * How long after `from` no other member leads, in ms. The work has the time between `forMs` and
   * `safeForMs` to stop. By best effort, this holds only for members that heard the leader lately.
   */
  readonly safeForMs: number;
}

/** This member knows of a leader. The view lags behind, and is never proof of leadership. */
export interface LeaderView<S extends Safety> {
  readonly state: 'leader';
  readonly memberId: string;
  readonly term: TermOf<S>;
  readonly round: RoundOf<S>;
}

/** This member knows of no leader. It cannot tell whether there is one. */
export interface UnknownView {
  readonly state: 'unknown';
}

/** What a member knows about the leader. Distinguish the views by `state`. */
export type PeerView<S extends Safety> = LeaderView<S> | UnknownView;

/** Why a leadership ended. */
export type PeerEndReason =
  /**
   * No majority, or no other member that had to, answered in time. By best effort: this process
   * stood still, and did not announce in time that it leads.
   */
  | 'deadline'
  /**
   * The wall clock passed the deadline before the monotonic clock: the machine slept, or its clock
   * was set forward.
   */
  | 'clockJump'
  /** Another member has a newer term. */
  | 'newerTerm'
  /**
   * By best effort: this member met another leader, which has precedence. Also: the algorithm took
   * the leadership away without giving a reason.
   */
  | 'superseded'
  /** A fence has seen a newer term: votes were lost, or another member was elected. */
  | 'termBehind'
  | 'resigned'
  /** The work of `lead` threw an error, so the leader resigned. */
  | 'workFailed'
  | 'handover'
  | 'memberClosed'
  /** The vote could not be written to the storage. */
  | 'notWritten'
  /** The application's `position` threw, or returned something else than a position. */
  | 'positionUnknown'
  /** After a partition, this member's smaller part joins the larger one. */
  | 'merged'
  /** There are fewer members than a leader needs. */
  | 'notEnoughMembers';

/** True if the leader gave the leadership up. False if it was lost. */
export function isGivenUp(reason: PeerEndReason): boolean {
  return reason === 'resigned' || reason === 'workFailed' || reason === 'handover' || reason === 'memberClosed';
}

/** A member that can be reached: at its address, or, if it has announced none, by its id. */
export interface Contact {
  readonly memberId: string;
  /** The address as the transport writes it. Empty if the id is enough. */
  readonly address: string;
}

/** The members of an open membership, as far as one member knows them. */
export interface PeerMembership {
  /** Rises with every change. The two parts of a partition count separately. */
  readonly version: number;
  /** The member that keeps the list. It alone adds and removes members. */
  readonly coordinator: string;
  /**
   * From the oldest to the youngest, by joining. A member that rejoins, or gives up its place, is
   * the youngest.
   */
  readonly members: readonly PeerMembershipMember[];
  /** Whether there are enough members for one to lead. */
  readonly isEnough: boolean;
}

/** A member of an open membership. */
export interface PeerMembershipMember extends Contact {
  /** The member's number in the order of joining. A member that joined later has a higher one. */
  readonly age: number;
  /** Whether the member campaigns. */
  readonly standing: boolean;
}

/** What a member's own process asks of the algorithm. */
export type Command =
  /** Campaign from now on, until elected. */
  | { readonly type: 'campaign' }
  | { readonly type: 'withdraw' }
  /** The leadership is no longer valid. The other members do not learn of that yet. */
  | { readonly type: 'end'; readonly reason: PeerEndReason }
  /**
   * A fence has seen this term. Whatever is elected from now on has a newer one. Algorithms without
   * terms ignore it.
   */
  | { readonly type: 'seen'; readonly term: bigint }
  /** The work has stopped. Inform the successor, or all members. */
  | { readonly type: 'release'; readonly to: string | undefined }
  /**
   * The transport knows how to reach these members. `self` is the address of this member.
   * Algorithms with listed members ignore it.
   */
  | { readonly type: 'seeds'; readonly self: string; readonly seeds: readonly Contact[] }
  /**
   * The process is about to end. Nothing is sent after this step. Algorithms with listed members
   * ignore it.
   */
  | { readonly type: 'leave' };

/** What the driver reads before each step. */
export interface Reading {
  /** The driver's clocks. Algorithms use the monotonic one; `Validity.from` carries both. */
  readonly now: Moment;
  readonly position: Position;
}

/** What one step of an algorithm reacts to. */
export type Input<Message> =
  | (Reading & { readonly type: 'tick' })
  | (Reading & { readonly type: 'message'; readonly from: string; readonly message: Message })
  | (Reading & { readonly type: 'command'; readonly command: Command });

/** What the driver does after a step. It persists first. */
export type Output<Message, Durable> =
  /**
   * At most one per step. It must be durable before any other output of the same step takes effect.
   */
  | { readonly type: 'persist'; readonly durable: Durable }
  /** `at`: the address of a member that is not listed. */
  | { readonly type: 'send'; readonly to: string; readonly at?: string; readonly message: Message }
  | { readonly type: 'event'; readonly event: PeerEvent };

/** What a step reports to the application. */
export type PeerEvent =
  | { readonly type: 'elected' }
  | { readonly type: 'ended'; readonly reason: PeerEndReason }
  /** The membership has changed. Undefined: this member belongs to none. */
  | { readonly type: 'membership'; readonly membership: PeerMembership | undefined }
  /** The member found no members to join, and has stopped. */
  | { readonly type: 'joinFailed' }
  | { readonly type: 'conflict'; readonly conflict: PeerConflict };

/**
 * A message that no member sends unless members are set up wrongly: for example, a member that was
 * cloned together with its vote.
 */
export interface PeerConflict {
  /**
   * `OWN_ID`: another process has this member's id. `TWO_LEADERS`: two members lead in one term.
   * `TERM_TOO_HIGH`: a term that no election can have reached, which is ignored.
   * `VERSION_TOO_HIGH`: the same of a version of an open membership.
   */
  readonly code: 'OWN_ID' | 'TWO_LEADERS' | 'TERM_TOO_HIGH' | 'VERSION_TOO_HIGH';
  readonly from: string;
  readonly term?: bigint;
  readonly version?: number;
  /** With `TWO_LEADERS`: the other leader. */
  readonly leader?: string;
}

/** The part of every algorithm's state that the driver reads. */
export interface AlgorithmState {
  /** When the algorithm needs its next tick, on the monotonic clock. Undefined: never. */
  readonly wakeAtMs: number | undefined;
}

/** The result of one step: the next state, and the outputs. */
export interface Step<State, Message, Durable> {
  readonly state: State;
  readonly outputs: readonly Output<Message, Durable>[];
}

/** What a member starts from. */
export interface Start<Durable> {
  readonly memberId: string;
  readonly now: Moment;
  /** The source of all of the algorithm's random numbers: 32 bits. */
  readonly seed: number;
  /** What was persisted last. Undefined: nothing was ever persisted. */
  readonly durable: Durable | undefined;
}

/**
 * One way to elect. Its methods are pure. Its states, messages and durable parts are plain data:
 * strings, finite numbers, bigints, booleans, arrays and objects of those.
 */
export interface Algorithm<S extends Safety = Safety, State extends AlgorithmState = AlgorithmState, Message = unknown, Durable = unknown> {
  readonly name: string;
  readonly safety: S;
  /**
   * All members, this one included. `open`: the transport decides whom it admits, and the algorithm
   * keeps the list of members.
   */
  readonly members: readonly string[] | 'open';
  /**
   * Everything that all members must agree on, as text. Each message carries it. A member refuses a
   * message with another configuration.
   */
  readonly configuration: string;
  /** Whether the algorithm persists anything. */
  readonly persists: boolean;

  start(start: Start<Durable>): State;
  step(state: State, input: Input<Message>): Step<State, Message, Durable>;
  /** The leadership that this member holds. Undefined: it does not lead. */
  validity(state: State): Validity<S> | undefined;
  view(state: State): PeerView<S>;
  /** The newest term that this member knows. */
  highestTerm(state: State): TermOf<S>;
  /**
   * The member to which this leader may hand over: the member `to`, or, if `to` is undefined, the
   * best one. Undefined: there is none.
   */
  successor(state: State, to: string | undefined): string | undefined;
  /**
   * Why `successor` returns undefined for these arguments, for the message of an error: "it does
   * not campaign". `it` is the member `to`.
   */
  whyNoSuccessor(state: State, to: string | undefined): string;

  /**
   * The sort of a message. An algorithm has only a few sorts. Of the messages of one sort from one
   * member to another, only the newest counts. So a transport may drop an older one that it has not
   * sent yet, and at most one message of each sort waits for a member that does not read.
   */
  sortOf(message: Message): string;
  /** Reads a message. Undefined: the data are no message of this algorithm. */
  readMessage(data: unknown): Message | undefined;
  /**
   * Reads what was persisted before.
   *
   * @throws `CORRUPT`, or another error, if the data are not of this algorithm.
   */
  readDurable(data: unknown): Durable;
  /**
   * The members at the time of persisting. Undefined: unknown. Algorithms that persist nothing
   * leave it out.
   */
  formerMembers?(durable: Durable): readonly string[] | undefined;
}
