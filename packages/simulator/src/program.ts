/** What a process of the world runs. */

import type { Clock, Leadership, Logger, Random, Store } from '@incumbent/core';
import type { Resource, Shown } from './event.ts';
import type { Shape } from './plan.ts';

/** What a program is given: the whole of its surroundings. */
export interface Self {
  /** The same for every start of the process. */
  readonly memberId: string;
  readonly store: Store;
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
  /** To be told of every leadership at once: the checkers ask it. `waits`: the SDK knows of its work, by `lead` or `waitUntil`. */
  leads(leadership: Watched, election: string, waits: boolean): Led;
  /** What an observer of this process was shown. */
  shows(view: Shown): void;
  /** Sends a write with a term to a resource past a fence, which takes its time; resolves with the highest term that the fence has seen. */
  sendFenced(term: bigint): Promise<bigint>;
  /** A write of this term was refused. */
  refused(to: Resource, term: bigint): void;
  /** Does what ends the program's part in elections, and has the checkers see how long that takes. */
  closes(task: () => Promise<void>): Promise<void>;
  /** Something failed in a way that it should not have. */
  astray(error: unknown): void;
}

export type Watched = Pick<Leadership<never>, 'term' | 'signal' | 'ended' | 'released' | 'isValid'>;

/** One leadership, as the checkers follow it. */
export interface Led {
  /** The work has stopped. */
  settled(): void;
}

/** Runs until it is asked to stop, and has stopped. What it leaves behind then is a violation. */
export type Program = (self: Self) => Promise<void>;
