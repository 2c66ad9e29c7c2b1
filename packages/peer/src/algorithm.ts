/**
 * What an election without a store is made of: an algorithm says what follows from what, and a driver does it. An algorithm is pure: `step(state,
 * input)` gives the next state and what is to be done, and reads no clock, no chance and no network. So the same code runs in production, in a
 * simulation, and in a search through everything that can happen. (The form is that of etcd-io/raft and of Kafka's KRaft: sans-IO.)
 */

import type { Moment } from '@incumbent/core';

/** `quorum`: one leader per term. `bestEffort`: under a partition, or a bad guess of who is alive, there may be several. */
export type Safety = 'quorum' | 'bestEffort';

/** The number of a leadership that excludes others: a `Fence` takes it. */
export type TermOf<S extends Safety> = S extends 'quorum' ? bigint : undefined;
/** The number of a leadership that excludes nobody: a hint of which is newer, and of another type, so that no fence takes it. */
export type RoundOf<S extends Safety> = S extends 'bestEffort' ? number : undefined;

/** How far the application's data reach, for a leader that must have all of them: compared by term, then by index. */
export interface Position {
  readonly lastTerm: bigint;
  readonly lastIndex: bigint;
}

/** What a member believes of itself, and for how long. */
export interface Belief<S extends Safety> {
  readonly term: TermOf<S>;
  readonly round: RoundOf<S>;
  /** The moment, on the driver's clocks, from which the others vouch for it; by best effort, from which it said last that it leads. */
  readonly from: Moment;
  /** How long it is believed from then on, in ms. */
  readonly forMs: number;
  /**
   * Until when, from then on, nobody else leads, in ms: what is left after `forMs` is for the work to stop. By best effort: nobody of those that have heard the
   * leader lately.
   */
  readonly safeForMs: number;
}

export interface LeaderView<S extends Safety> {
  readonly state: 'leader';
  readonly memberId: string;
  readonly term: TermOf<S>;
  readonly round: RoundOf<S>;
}

/** Nobody is known to lead. Whether nobody does, a member that hears of nobody cannot tell. */
export interface UnknownView {
  readonly state: 'unknown';
}

export type PeerView<S extends Safety> = LeaderView<S> | UnknownView;

/** Why a leadership ended. */
export type PeerEndReason =
  /** No majority, or whoever else was needed, has answered in time; by best effort: it stood still, and has not said in time that it leads. */
  | 'deadline'
  /** The wall clock passed the deadline before the monotonic one: the machine was suspended, or its clock set forward. */
  | 'clockJump'
  /** Another member has a newer term. */
  | 'newerTerm'
  /** By best effort: another leader was met, and goes before this one. */
  | 'superseded'
  /** A fence has seen a newer term: votes were lost, or another was elected. */
  | 'termBehind'
  | 'resigned'
  | 'handover'
  | 'memberClosed'
  /** The vote could not be written down. */
  | 'notWritten'
  /** The application's `position` threw, or answered with something else. */
  | 'positionUnknown'
  /** Its side was the smaller one of a split, and joins the other. */
  | 'merged'
  /** There are fewer members than it takes to lead. */
  | 'notEnoughMembers';

/** A member that can be reached: by its address, if it has told one, or by its id alone. */
export interface Contact {
  readonly memberId: string;
  /** What the transport calls it by; empty where the id is enough. */
  readonly address: string;
}

/** Who takes part in an open membership, as far as one member has heard. */
export interface PeerMembership {
  /** Rises with every change, on one side of a split; the two sides of a split count each for itself. */
  readonly version: number;
  /** Whoever keeps the list: it admits, and it alone removes. */
  readonly coordinator: string;
  /** From the oldest to the youngest, by joining: one that joins again, or gives its place up, is the youngest. */
  readonly members: readonly PeerMembershipMember[];
  /** Whether they are enough to lead. */
  readonly isEnough: boolean;
}

export interface PeerMembershipMember extends Contact {
  /** In which order it joined: whoever joined later has a higher one. */
  readonly age: number;
  /** Whether it would lead. */
  readonly standing: boolean;
}

/** What a member is asked to do by its own process. */
export type Command =
  /** Stand for election from now on, until elected. */
  | { readonly type: 'campaign' }
  | { readonly type: 'withdraw' }
  /** Stop believing. Nobody is told yet. */
  | { readonly type: 'end'; readonly reason: PeerEndReason }
  /** This term has been seen: whatever is elected from now on has a newer one. Nothing to an algorithm without terms. */
  | { readonly type: 'seen'; readonly term: bigint }
  /** The work has stopped: tell the heir, or everybody. */
  | { readonly type: 'release'; readonly to: string | undefined }
  /** The transport knows ways to these members: seeds. `self` is where this one can be reached. Nothing to an algorithm whose members are listed. */
  | { readonly type: 'seeds'; readonly self: string; readonly seeds: readonly Contact[] }
  /** The process is about to end: nothing is sent after this step. Nothing to an algorithm whose members are listed. */
  | { readonly type: 'leave' };

/** What the driver reads for each step. */
export interface Reading {
  /** The driver's clocks. Algorithms reckon by the monotonic one; the wall clock is passed through into `Belief.from`. */
  readonly now: Moment;
  readonly position: Position;
}

export type Input<Message> =
  | (Reading & { readonly type: 'tick' })
  | (Reading & { readonly type: 'message'; readonly from: string; readonly message: Message })
  | (Reading & { readonly type: 'command'; readonly command: Command });

export type Output<Message, Durable> =
  /** At most one a step. Must be durable before anything is sent or told that the same step puts out. */
  | { readonly type: 'persist'; readonly durable: Durable }
  /** `at`: the address of a member that is not listed, as it or another has told it. */
  | { readonly type: 'send'; readonly to: string; readonly at?: string; readonly message: Message }
  | { readonly type: 'event'; readonly event: PeerEvent };

export type PeerEvent =
  | { readonly type: 'elected' }
  | { readonly type: 'ended'; readonly reason: PeerEndReason }
  /** The members are others than before. Undefined: this one is among none. */
  | { readonly type: 'membership'; readonly membership: PeerMembership | undefined }
  /** It found no members to join, and does nothing any more. */
  | { readonly type: 'joinFailed' }
  | { readonly type: 'conflict'; readonly conflict: PeerConflict };

/** What no member says unless members are set up wrongly: a member that was cloned, say, its vote with it. */
export interface PeerConflict {
  /**
   * `OWN_ID`: another process has this member's id. `TWO_LEADERS`: two members lead in one term.
   * `TERM_TOO_HIGH`: a term that no election can have reached, which is ignored. `VERSION_TOO_HIGH`: the
   * same of a version of an open membership.
   */
  readonly code: 'OWN_ID' | 'TWO_LEADERS' | 'TERM_TOO_HIGH' | 'VERSION_TOO_HIGH';
  readonly from: string;
  readonly term?: bigint;
  readonly version?: number;
  /** With `TWO_LEADERS`: the other leader. */
  readonly leader?: string;
}

export interface AlgorithmState {
  /** When it wants a tick, on the monotonic clock; undefined: no need. */
  readonly wakeAtMs: number | undefined;
}

export interface Step<State, Message, Durable> {
  readonly state: State;
  readonly outputs: readonly Output<Message, Durable>[];
}

/** What a member starts from. */
export interface Start<Durable> {
  readonly memberId: string;
  readonly now: Moment;
  /** All of the algorithm's chance comes from here: 32 bits. */
  readonly seed: number;
  /** What was persisted last; undefined: nothing, ever. */
  readonly durable: Durable | undefined;
}

/**
 * One way to elect. Its methods are pure, and its states, messages and durable parts plain data: strings, finite numbers, bigints, booleans,
 * arrays and objects of those.
 */
export interface Algorithm<S extends Safety = Safety, State extends AlgorithmState = AlgorithmState, Message = unknown, Durable = unknown> {
  readonly name: string;
  readonly safety: S;
  /** Who takes part, itself included. `open`: whoever the transport lets in; then the algorithm itself keeps account of who is there. */
  readonly members: readonly string[] | 'open';
  /** Whatever must be the same everywhere, as text. It goes with every message; a message with another one is refused. */
  readonly configuration: string;
  /** Whether it persists anything. */
  readonly persists: boolean;

  start(start: Start<Durable>): State;
  step(state: State, input: Input<Message>): Step<State, Message, Durable>;
  /** What this member believes of itself; undefined: that it does not lead. */
  belief(state: State): Belief<S> | undefined;
  view(state: State): PeerView<S>;
  /** The newest term that it knows of. */
  highestTerm(state: State): TermOf<S>;
  /** Whom a leader may hand over to: this member, or, where undefined, the best one. Undefined: nobody. */
  heir(state: State, to: string | undefined): string | undefined;

  /**
   * The sort of a message, out of a few: of one sort, from one member to another, only the newest counts. So a transport need not keep an older one that
   * has not left yet, and what waits for a member that does not listen is never more than one message of each sort.
   */
  sortOf(message: Message): string;
  /** The message that some data are; undefined: none of this algorithm. */
  readMessage(data: unknown): Message | undefined;
  /** What was persisted before, as a storage has it; throws where the data are not of this algorithm. */
  readDurable(data: unknown): Durable;
  /** The members that there were when it was persisted; undefined: nobody knows. Left out where nothing is persisted. */
  formerMembers?(durable: Durable): readonly string[] | undefined;
}
