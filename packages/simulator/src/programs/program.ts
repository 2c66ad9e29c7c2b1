/** What a process of the world runs. */

import type { Clock, Leadership, Logger, MemberOptions, Random, Store } from '@incumbent/core';
import type { Resource, Shown } from '../world/event.ts';
import type { Shape } from '../plan/plan.ts';
import type { Stream } from '../time/random.ts';

/** What a program is given: the whole of its surroundings. */
export interface Self {
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
   * `lead` or `waitUntil`, and {@link Led.settled} says when that has stopped. Default false.
   */
  leads(leadership: Watched, election: string, waits?: boolean): Led;
  /** What an observer of this process was shown; `observer` names it where there are several. The first view tells when one began, if it is named, or that is `unknown`. */
  shows(view: Shown, observer?: string): void;
  /** That observer was closed, and the process goes on. */
  closesEyes(observer: string): void;
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
  refused(to: Resource, term: bigint): void;
  /** Does what ends the program's part in elections, and has the checkers see how long that takes. */
  closes(task: () => Promise<void>): Promise<void>;
  /** Tells the checkers what the usual program of a member has done, and was shown. */
  tells(what: Told): void;
  /** Puts a line into the timeline. */
  note(text: string): void;
  /** Something failed in a way that it should not have. */
  astray(error: unknown): void;
}

export type Told =
  | { readonly type: 'left' }
  | { readonly type: 'abstained' }
  | { readonly type: 'members'; readonly ids: readonly string[] }
  | { readonly type: 'published'; readonly term: bigint; readonly value: unknown };

export type Watched = Pick<Leadership<never>, 'term' | 'signal' | 'ended' | 'released' | 'isValid'>;

/** One leadership, as the checkers follow it. */
export interface Led {
  /** The work has stopped. */
  settled(): void;
}

/**
 * Runs until it is asked to stop, and has stopped. What it leaves behind then is a violation, and so is an error: but `DUPLICATE_MEMBER`, with which a
 * process ends whose id another one has taken.
 */
export type Program = (self: Self) => Promise<void>;
