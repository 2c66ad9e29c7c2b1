/**
 * The connection of one process to the store: its link, the faults of its calls, and its client.
 */

import { Link } from '../network/link.ts';
import type { SimProcess } from '../time/process.ts';
import { isWrite, type SimServer } from '../store/server.ts';
import type { CallFaults } from '../store/calls.ts';
import type { StoreOperation } from '../store/shape.ts';
import { SimStore } from '../store/store.ts';
import type { Stream } from '../time/random.ts';
import type { Scheduler } from '../time/scheduler.ts';

export class Client implements CallFaults {
  readonly link: Link;
  readonly store: SimStore;
  /** How many answers were lost because of {@link Client.loseReplies}. */
  lostReplies = 0;
  /** How many requests were held because of {@link Client.hold}. */
  held = 0;
  readonly #scheduler: Scheduler;
  #replies: { left: number; readonly operations: readonly StoreOperation[] | undefined } = { left: 0, operations: undefined };
  #holds: { readonly operations: readonly StoreOperation[] | undefined; readonly untilMs: number }[] = [];

  constructor(process: SimProcess, server: SimServer, scheduler: Scheduler, random: Stream) {
    this.#scheduler = scheduler;
    const { latency: range } = server.shape;
    this.link = new Link(scheduler, { process, random, range, servers: server.disks });
    const after = (delayMs: number, task: () => void): void => void scheduler.after(delayMs, task);
    this.store = new SimStore({ process, server, link: this.link, faults: this, random, after });
  }

  /**
   * From now on no answer is lost, no request is held, and no message takes much longer than usual.
   */
  calm(): void {
    this.#replies = { left: 0, operations: undefined };
    this.#holds = [];
    this.link.steady();
  }

  /** Loses the answers to the next `count` calls of these operations. Default: all operations. */
  loseReplies(count: number, operations?: readonly StoreOperation[]): void {
    this.#replies = { left: count, operations };
  }

  /** Holds writes of these operations (default: all) at the store until a moment of world time. */
  hold(untilMs: number, operations?: readonly StoreOperation[]): void {
    this.#holds.push({ operations, untilMs });
  }

  holdMs(operation: StoreOperation): number | undefined {
    const { nowMs } = this.#scheduler;
    this.#holds = this.#holds.filter(({ untilMs }) => untilMs > nowMs);
    const hold = this.#holds.find(({ operations }) => operations?.includes(operation) ?? isWrite(operation));
    if (hold === undefined) return undefined;
    this.held += 1;
    return hold.untilMs - nowMs;
  }

  losesReply(operation: StoreOperation): boolean {
    if (this.#replies.left <= 0 || !(this.#replies.operations?.includes(operation) ?? true)) return false;
    this.#replies.left -= 1;
    this.lostReplies += 1;
    return true;
  }
}
