/** Faults of single calls, as opposed to faults of the whole link. */

import type { Operation } from '../options.ts';

/**
 * How a dropped call ends: `timeout`, at its timeout; `reset`, at once, as if the connection had
 * been reset. The outcome is unknown in both cases.
 */
export type DropHow = 'timeout' | 'reset';

/** Which calls a fault drops, and how they end. */
export interface DropOptions {
  /** The calls that can be dropped. Default: all. */
  readonly operations?: readonly Operation[] | undefined;
  /** How a dropped call ends. Default `timeout`. */
  readonly how?: DropHow | undefined;
}

const WRITES: readonly Operation[] = ['grantLease', 'renewLease', 'revokeLease', 'compareAndSwap', 'enqueue'];

/** Drops a number of calls. */
class Drops {
  #left: number;
  readonly #operations: readonly Operation[] | undefined;
  readonly #how: DropHow;

  constructor(count: number, options: DropOptions) {
    this.#left = count;
    this.#operations = options.operations;
    this.#how = options.how ?? 'timeout';
  }

  /** How this call is dropped. Undefined: it is not dropped. */
  next(operation: Operation): DropHow | undefined {
    if (this.#left <= 0 || !(this.#operations?.includes(operation) ?? true)) return undefined;
    this.#left -= 1;
    return this.#how;
  }
}

const NONE = new Drops(0, {});

export class CallFaults {
  #requests = NONE;
  #replies = NONE;
  #heldOperations: readonly Operation[] = [];
  #held: (() => void)[] = [];

  dropRequests(count: number, options: DropOptions): void {
    this.#requests = new Drops(count, options);
  }

  dropReplies(count: number, options: DropOptions): void {
    this.#replies = new Drops(count, options);
  }

  /** Holds these calls at the server until `release`. Without arguments, all that write. */
  hold(operations: readonly Operation[]): void {
    this.#heldOperations = operations.length > 0 ? operations : WRITES;
  }

  /** Applies the calls that are held, in the order in which they came. */
  release(): void {
    this.#heldOperations = [];
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
  dropOfRequest(operation: Operation): DropHow | undefined {
    return this.#requests.next(operation);
  }

  /** How the next reply to this call is dropped. Undefined: it is sent. */
  dropOfReply(operation: Operation): DropHow | undefined {
    return this.#replies.next(operation);
  }

  /** Applies a request that has reached the server: now, or at `release`. */
  applyOrHold(operation: Operation, apply: () => void): void {
    if (this.#heldOperations.includes(operation)) this.#held.push(apply);
    else apply();
  }
}
