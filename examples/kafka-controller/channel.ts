/** From the controller to one broker: how its partitions are, and who leads them. */

import { setTimeout as sleep } from 'node:timers/promises';
import { isIncumbentError } from 'incumbent';
import type { Partition } from './partitions.ts';

const RETRY_EVERY_MS = 50;

export interface ChannelOptions {
  /** Tells the broker, with the controller's term; rejects with `STALE_TERM` when it has heard of a newer controller. */
  readonly tell: (partitions: Readonly<Record<string, Partition>>) => Promise<void>;
  /** As it is now. */
  readonly stateOf: (partition: string) => Partition | undefined;
  /** There is a newer controller. */
  readonly overtaken: (error: Error) => void;
}

/** Each change is told until it was heard, the latest state only. A request that was begun is not called back when the term ends: that is what fences are for. */
export class Channel {
  readonly #options: ChannelOptions;
  readonly #due = new Set<string>();
  #told: Promise<void> | undefined;
  #closed = false;

  constructor(options: ChannelOptions) {
    this.#options = options;
  }

  /** Resolves when nothing is left to tell. */
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

  // Whatever is marked before it has looked for the last time is told by this run; after that, by the next one.
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
