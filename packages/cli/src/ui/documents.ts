/**
 * The documents that the page shows, as the server sends them. Each has a key: `store`, `health`,
 * `ends`, `election/NAME`, `group/NAME`; and for what a viewer has opened, `queue/NAME` and
 * `members/NAME`. A document is small and whole: a viewer that has missed changes needs only the
 * latest one. Terms are strings, and times are in ms since the epoch, by the clock of this process.
 */

import type { ErrorFields } from '../common/output.ts';
import type { Finding } from '../doctor/finding.ts';

/** A part of an election's timeline. */
export interface TermSpan {
  readonly state: 'leader' | 'vacant' | 'unknown';
  readonly from: number;
  /** Absent for the present one. */
  readonly to?: number;
  readonly term?: string;
  readonly member?: string;
  /** Why nobody leads. Only for `vacant`. */
  readonly reason?: string;
}

/** The end of a term that this process has seen. */
export interface TermEnd {
  /** Different for each end of this process. */
  readonly id: number;
  readonly election: string;
  readonly term: string;
  /** Absent if this process has not seen who led in the term. */
  readonly member?: string;
  readonly reason: string;
  /** When this process has seen the end. */
  readonly at: number;
  /** Who leads now, or led next. Absent while nobody has followed. */
  readonly next?: { readonly term: string; readonly member: string };
  /** How long nobody led. Absent if that is not over, or if this process has not seen all of it. */
  readonly vacantForMs?: number;
}

/** `election/NAME`: a row of the list. */
export interface ElectionRow {
  /**
   * `waiting`: the store has not answered yet. `unreadable`: a record is not one of this SDK's, or
   * of a newer version. `unknown`: the store does not confirm the last state.
   */
  readonly state: 'waiting' | 'leader' | 'vacant' | 'unknown' | 'unreadable';
  readonly term?: string;
  /** Who leads. In the state `unknown`: who led when the store last confirmed it. */
  readonly member?: string;
  /** When the state began. */
  readonly since?: number;
  /** True if it had begun before this process saw it: then `since` is when this process saw it. */
  readonly isOlder?: boolean;
  /** Why nobody leads, or how the term before ended. */
  readonly reason?: string;
  readonly error?: ErrorFields;
  /** The last parts of the timeline. */
  readonly spans: readonly TermSpan[];
  /** How many terms this process has seen end. */
  readonly ends: number;
}

/** A member of an opened election or group. */
export interface MemberDocument {
  readonly member: string;
  readonly incarnation: string;
  /** The published value as text, cut after `MAX_VALUE_CHARACTERS`. */
  readonly value?: string;
}

/** `queue/NAME`: an election that a viewer has opened. */
export interface QueueDocument {
  /** The leader first, then the others in the order in which they would lead. */
  readonly candidates: readonly (MemberDocument & { readonly state: 'leads' | 'stopping' | 'waits'; readonly rank?: string })[];
  /** How many candidates there are, also beyond those that are listed. */
  readonly total: number;
  readonly succession?: string;
  /** The last leader has not stopped yet, and nobody can be elected until it has. */
  readonly stopping: boolean;
  /** The whole timeline of this process. */
  readonly spans: readonly TermSpan[];
  readonly ends: readonly TermEnd[];
  /** Why the queue cannot be read now. The candidates are then those of the last answer. */
  readonly error?: ErrorFields;
}

/** `group/NAME`: a row of the list of groups. */
interface GroupRow {
  /** By the last listing. */
  readonly members: number;
}

/** `members/NAME`: a group that a viewer has opened. */
interface MembersDocument {
  readonly members: readonly MemberDocument[];
  readonly total: number;
}

/** `store`: the store, and what this process does with it. */
export interface StoreDocument {
  readonly name: string;
  /** Without credentials. */
  readonly url: string;
  /** When this process began to watch: the history of the page begins here. */
  readonly startedAt: number;
  readonly operate: boolean;
  readonly version: string;
  /** False before the first answer. */
  readonly listed: boolean;
  /** Elections beyond the limit, which the page does not show. */
  readonly hidden: number;
  /** Set while the store does not answer. */
  readonly away?: ErrorFields & { readonly since: number };
}

/** `health`: the store as `incumbent doctor` sees it. */
interface HealthDocument {
  /** Absent before the first check has ended. */
  readonly checkedAt?: number;
  readonly running: boolean;
  /** True if the checks write, which they do with `--allow-operate`. */
  readonly writes: boolean;
  readonly findings: readonly Pick<Finding, 'level' | 'what' | 'detail'>[];
}

/** What will happen if the viewer confirms, for `--allow-operate`. */
export interface PreviewDocument {
  readonly election: string;
  /** The term that ends. The confirmed request names it, and does nothing if it is over. */
  readonly term: string;
  readonly member: string;
  readonly steps: readonly string[];
}

/** Every document by the part of its key before the first slash. */
export interface Documents {
  readonly store: StoreDocument;
  readonly health: HealthDocument;
  readonly ends: readonly TermEnd[];
  readonly election: ElectionRow;
  readonly queue: QueueDocument;
  readonly group: GroupRow;
  readonly members: MembersDocument;
}

type Kind = keyof Documents;

/** The key of a document. */
export type DocumentKey<K extends Kind = Kind> = K extends 'store' | 'health' | 'ends' ? K : `${K}/${string}`;
