/** The interface of a program that a simulated process runs. */

import type { Clock, Leadership, Logger, MemberOptions, Random, Store } from '@incumbent/core';
import type { RequestKind, Resource, ObserverView } from '../world/event.ts';
import type { Shape } from '../plan/plan.ts';
import type { Stream } from '../time/random.ts';

/** Everything that a program may use. */
export interface ProgramContext {
  /** The member id. Every start of the process has the same one. */
  readonly memberId: string;
  readonly store: Store;
  /**
   * The options for a `Member` of this process: its id, clock, random numbers, logger, and the
   * durations of this world.
   */
  readonly options: MemberOptions;
  readonly clock: Clock;
  readonly random: Random;
  /** Writes the SDK's log to the timeline of the run. */
  readonly logger: Logger;
  readonly shape: Shape;
  /** Aborts when the process is asked to stop in good order. */
  readonly stopping: AbortSignal;
  /** True once faults are over. From then on a leader must keep leading. */
  readonly calm: boolean;
  /** Whether this process was started to take the id of another process that lives. */
  readonly takesOver: boolean;
  /**
   * Reports a leadership to the checkers at once. They call its `isValid()`, and check that it ends
   * in order and that somebody leads. `waits`: the SDK tracks the work, by `lead` or `waitUntil`,
   * and the program calls {@link WorkReport.workStopped} when the work has stopped. Default false.
   */
  reportLeadership(leadership: ReportedLeadership, election: string, waits?: boolean): WorkReport;
  /**
   * Reports what an observer of this process showed. `observer` names the observer if the process
   * has several. The first view marks the observer's start if it has a name, or if the view is
   * `unknown`.
   */
  reportView(view: ObserverView, observer?: string): void;
  /** Reports that this observer was closed while the process continues. */
  reportObserverClosed(observer: string): void;
  /** Returns a random stream for one purpose. What it draws does not affect any other stream. */
  streamFor(what: string): Stream;
  /**
   * Runs `task` on something that processes share besides the store, over a simulated network. One
   * message in eight is slow. `task` runs as a whole, and the promise settles like `task`. A
   * request that was sent arrives even if the process is stopped or dies.
   */
  call<T>(task: () => T): Promise<T>;
  /**
   * Sends a write with a term to a resource behind a fence. Resolves with the highest term that the
   * fence has seen.
   */
  sendFenced(term: bigint): Promise<bigint>;
  /** Reports that a write of this term was rejected. */
  reportRefused(to: Resource, term: bigint): void;
  /**
   * Runs `task`, which must end the program's part in elections. The checkers check how long it
   * takes.
   */
  measureClose(task: () => Promise<void>): Promise<void>;
  /** Reports to the checkers what a default program has done or seen. */
  report(what: ProgramReport): void;
  /** Adds a line to the timeline. */
  note(text: string): void;
  /** Reports an unexpected error. The run then has a violation. */
  reportError(error: unknown): void;
}

export type ProgramReport =
  | { readonly type: 'leftGroup' }
  | { readonly type: 'stoppedCampaigning' }
  | { readonly type: 'groupMembers'; readonly ids: readonly string[] }
  | { readonly type: 'termSeen'; readonly election: string; readonly term: bigint }
  /** An operator is about to send a request for this term. */
  | { readonly type: 'requested'; readonly election: string; readonly term: bigint; readonly request: RequestKind }
  /** The operator has written the request, or the term is over. */
  | { readonly type: 'requestWritten'; readonly election: string; readonly term: bigint; readonly request: RequestKind }
  | { readonly type: 'published'; readonly term: bigint; readonly value: unknown };

/** A leadership that a program reports to the checkers. */
export type ReportedLeadership = Pick<Leadership<never>, 'term' | 'signal' | 'ended' | 'released' | 'isValid' | 'remainingMs' | 'state'>;

/** Reports the progress of one leadership's work to the checkers. */
export interface WorkReport {
  /** The work has stopped. */
  workStopped(): void;
}

/**
 * Runs until `stopping` aborts and the program has stopped. Whatever it leaves behind is a
 * violation, and so is an error. `DUPLICATE_MEMBER` is an exception: it ends a process whose id
 * another process has taken.
 */
export type Program = (self: ProgramContext) => Promise<void>;
