/** Faults that strike single calls rather than the whole link. */

import type { Verb } from '../options.ts';

/** How a dropped call ends: `timeout`, when its time is up; `reset`, at once, as if the connection had gone. Both are unknown. */
export type DropHow = 'timeout' | 'reset';

export interface DropOptions {
  /** Which calls. Default all. */
  readonly verbs?: readonly Verb[];
  /** Default `timeout`. */
  readonly how?: DropHow;
}

const WRITES: readonly Verb[] = ['grantLease', 'renewLease', 'revokeLease', 'compareAndSwap', 'enqueue'];

/** A number of calls to strike. */
class Drops {
  #left: number;
  readonly #verbs: readonly Verb[] | undefined;
  readonly #how: DropHow;

  constructor(count: number, options: DropOptions) {
    this.#left = count;
    this.#verbs = options.verbs;
    this.#how = options.how ?? 'timeout';
  }

  /** How the call ends if it is one of them; undefined if it is spared. */
  strike(verb: Verb): DropHow | undefined {
    if (this.#left <= 0 || !(this.#verbs?.includes(verb) ?? true)) return undefined;
    this.#left -= 1;
    return this.#how;
  }
}

const NONE = new Drops(0, {});

export class CallFaults {
  #requests = NONE;
  #replies = NONE;
  #holding: readonly Verb[] = [];
  #held: (() => void)[] = [];

  dropRequests(count: number, options: DropOptions): void {
    this.#requests = new Drops(count, options);
  }

  dropReplies(count: number, options: DropOptions): void {
    this.#replies = new Drops(count, options);
  }

  hold(verbs: readonly Verb[]): void {
    this.#holding = verbs.length > 0 ? verbs : WRITES;
  }

  release(): void {
    this.#holding = [];
    const held = this.#held;
    this.#held = [];
    for (const apply of held) apply();
  }

  clear(): void {
    this.#requests = NONE;
    this.#replies = NONE;
    this.release();
  }

  requestFate(verb: Verb): DropHow | undefined {
    return this.#requests.strike(verb);
  }

  replyFate(verb: Verb): DropHow | undefined {
    return this.#replies.strike(verb);
  }

  /** Applies a request that has reached the server: now, or when what is held is released. */
  gate(verb: Verb, apply: () => void): void {
    if (this.#holding.includes(verb)) this.#held.push(apply);
    else apply();
  }
}
