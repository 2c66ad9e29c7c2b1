/** What a process of the world runs. */

import type { Clock, Leadership, Logger, MemberOptions, Random, Store } from '@incumbent/core';
import type { Resource, ObserverView } from '../world/event.ts';
import type { Shape } from '../plan/plan.ts';
import type { Stream } from '../time/random.ts';

/** What a program is given: the whole of its surroundings. */
export interface ProgramContext {
  /** The same for every start of the process. */
  readonly memberId: string;
  readonly store: Store;
  /** What a `Member` of this process is to be made with: its id, clock, chance and logger, and the times of this world. */
  readonly options: MemberOptions;
  readonly clock: Clock;
  readonly random: Random;
  /** Puts what the SDK says into the run's timeline. */
  readonly logger: Logger;
  readonly shape: Shape;
  /** Aborts when the process is asked to stop, in good order. */
  readonly stopping: AbortSignal;
  /** True once faults are over: from then on whoever leads goes on leading. */
  readonly calm: boolean;
  /** Whether this process was started to take the id from another that lives. */
  readonly takesOver: boolean;
  /**
   * Tells the checkers of a leadership, at once: they ask it, and see that it ends in order and that somebody leads. `waits`: the SDK knows of its work, by
   * `lead` or `waitUntil`, and {@link WorkReport.settled} says when that has stopped. Default false.
   */
  reportLeadership(leadership: ReportedLeadership, election: string, waits?: boolean): WorkReport;
  /** What an observer of this process was shown; `observer` names it where there are several. The first view tells when one began, if it is named, or that is `unknown`. */
  reportView(view: ObserverView, observer?: string): void;
  /** That observer was closed, and the process goes on. */
  reportObserverClosed(observer: string): void;
  /** Chance for one purpose, so that what it is asked for changes nothing else. */
  streamFor(what: string): Stream;
  /**
   * Asks something that processes share besides the store, over a network that takes its time and holds up one message in eight: `task` runs there, whole;
   * settles as it does. What was sent arrives, even if the process stands still or dies meanwhile.
   */
  call<T>(task: () => T): Promise<T>;
  /** Sends a write with a term to a resource past a fence; resolves with the highest term that the fence has seen. */
  sendFenced(term: bigint): Promise<bigint>;
  /** A write of this term was refused. */
  reportRefused(to: Resource, term: bigint): void;
  /** Does what ends the program's part in elections, and has the checkers see how long that takes. */
  measureClose(task: () => Promise<void>): Promise<void>;
  /** Tells the checkers what the usual program of a member has done, and was shown. */
  report(what: ProgramReport): void;
  /** Puts a line into the timeline. */
  note(text: string): void;
  /** Something failed in a way that it should not have. */
  reportError(error: unknown): void;
}

export type ProgramReport =
  | { readonly type: 'leftGroup' }
  | { readonly type: 'stoppedCampaigning' }
  | { readonly type: 'groupMembers'; readonly ids: readonly string[] }
  | { readonly type: 'published'; readonly term: bigint; readonly value: unknown };

export type ReportedLeadership = Pick<Leadership<never>, 'term' | 'signal' | 'ended' | 'released' | 'isValid'>;

/** One leadership, as the checkers follow it. */
export interface WorkReport {
  /** The work has stopped. */
  workStopped(): void;
}

/**
 * Runs until it is asked to stop, and has stopped. What it leaves behind then is a violation, and so is an error: but `DUPLICATE_MEMBER`, with which a
 * process ends whose id another one has taken.
 */
export type Program = (self: ProgramContext) => Promise<void>;
