/** Sends the state of partitions from the controller to one broker. */

import { setTimeout as sleep } from 'node:timers/promises';
import { isIncumbentError } from 'incumbent';
import type { Partition } from './partitions.ts';

const RETRY_EVERY_MS = 50;

export interface ChannelOptions {
  /**
   * Sends to the broker, with the controller's term. Rejects with `STALE_TERM` if the broker knows
   * a newer controller.
   */
  readonly tell: (partitions: Readonly<Record<string, Partition>>) => Promise<void>;
  /** The present state of the partition. */
  readonly stateOf: (partition: string) => Partition | undefined;
  /** Called if the broker knows a newer controller. */
  readonly overtaken: (error: Error) => void;
}

/**
 * Sends the latest state of each changed partition until the broker has answered. A request that
 * has started continues after the end of the term; the broker's fence rejects it if it is stale.
 */
export class Channel {
  readonly #options: ChannelOptions;
  readonly #due = new Set<string>();
  #told: Promise<void> | undefined;
  #closed = false;

  constructor(options: ChannelOptions) {
    this.#options = options;
  }

  /** Resolves when the broker has everything. */
  get told(): Promise<void> {
    return this.#told ?? Promise.resolve();
  }

  mark(partitions: Iterable<string>): void {
    for (const partition of partitions) this.#due.add(partition);
    if (this.#due.size > 0 && !this.#closed) this.#told ??= this.#run();
  }

  close(): void {
    this.#closed = true;
  }

  // This run sends what changes before its last check. The next run sends later changes.
  async #run(): Promise<void> {
    do {
      const names = [...this.#due];
      this.#due.clear();
      try {
        await this.#options.tell(this.#states(names));
      } catch (error) {
        if (isIncumbentError(error, 'STALE_TERM')) {
          this.#options.overtaken(error);
          break;
        }
        for (const name of names) this.#due.add(name);
        await sleep(RETRY_EVERY_MS);
      }
    } while (this.#due.size > 0 && !this.#closed);
    this.#told = undefined;
  }

  #states(names: readonly string[]): Readonly<Record<string, Partition>> {
    const states = names.map((name) => [name, this.#options.stateOf(name)] as const);
    return Object.fromEntries(states.flatMap(([name, state]) => (state === undefined ? [] : [[name, state]])));
  }
}
