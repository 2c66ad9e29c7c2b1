/** Faults of single calls, as opposed to faults of the whole link. */

import type { Verb } from '../options.ts';

/**
 * How a dropped call ends: `timeout`, at its timeout; `reset`, at once, as if the connection had
 * been reset. The outcome is unknown in both cases.
 */
export type DropHow = 'timeout' | 'reset';

export interface DropOptions {
  /** The calls that can be dropped. Default: all. */
  readonly verbs?: readonly Verb[];
  /** How a dropped call ends. Default `timeout`. */
  readonly how?: DropHow;
}

const WRITES: readonly Verb[] = ['grantLease', 'renewLease', 'revokeLease', 'compareAndSwap', 'enqueue'];

/** Drops a number of calls. */
class Drops {
  #left: number;
  readonly #verbs: readonly Verb[] | undefined;
  readonly #how: DropHow;

  constructor(count: number, options: DropOptions) {
    this.#left = count;
    this.#verbs = options.verbs;
    this.#how = options.how ?? 'timeout';
  }

  /** How this call is dropped. Undefined: it is not dropped. */
  next(verb: Verb): DropHow | undefined {
    if (this.#left <= 0 || !(this.#verbs?.includes(verb) ?? true)) return undefined;
    this.#left -= 1;
    return this.#how;
  }
}

const NONE = new Drops(0, {});

export class CallFaults {
  #requests = NONE;
  #replies = NONE;
  #heldVerbs: readonly Verb[] = [];
  #held: (() => void)[] = [];

  dropRequests(count: number, options: DropOptions): void {
    this.#requests = new Drops(count, options);
  }

  dropReplies(count: number, options: DropOptions): void {
    this.#replies = new Drops(count, options);
  }

  /** Holds these calls at the server until `release`. Without arguments, all that write. */
  hold(verbs: readonly Verb[]): void {
    this.#heldVerbs = verbs.length > 0 ? verbs : WRITES;
  }

  /** Applies the calls that are held, in the order in which they came. */
  release(): void {
    this.#heldVerbs = [];
    const held = this.#held;
    this.#held = [];
    for (const apply of held) apply();
  }

  clear(): void {
    this.#requests = NONE;
    this.#replies = NONE;
    this.release();
  }

  /** How the next request of this call is dropped. Undefined: it is sent. */
  dropOfRequest(verb: Verb): DropHow | undefined {
    return this.#requests.next(verb);
  }

  /** How the next reply to this call is dropped. Undefined: it is sent. */
  dropOfReply(verb: Verb): DropHow | undefined {
    return this.#replies.next(verb);
  }

  /** Applies a request that has reached the server: now, or at `release`. */
  applyOrHold(verb: Verb, apply: () => void): void {
    if (this.#heldVerbs.includes(verb)) this.#held.push(apply);
    else apply();
  }
}
