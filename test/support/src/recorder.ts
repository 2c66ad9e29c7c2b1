/** Follows a watch in the background, and records its states. */

/** What `onStale` is called with. */
interface Cause extends Error {
  readonly code: string;
  readonly outcome: string;
}

interface WatchOptions {
  readonly signal: AbortSignal;
  onStale(cause: Cause): void;
}

export class Recorder<T> {
  readonly states: T[] = [];
  readonly stale: Cause[] = [];
  readonly #abort = new AbortController();
  readonly #ended: Promise<unknown>;

  constructor(watch: (options: WatchOptions) => AsyncIterable<T>) {
    const states = watch({ signal: this.#abort.signal, onStale: (cause) => void this.stale.push(cause) });
    this.#ended = this.#follow(states).catch((error: unknown) => error);
  }

  get latest(): T | undefined {
    return this.states.at(-1);
  }

  /** The error that ended the watch. Undefined if the watch ended without an error. */
  get ended(): Promise<unknown> {
    return this.#ended;
  }

  stop(): Promise<unknown> {
    this.#abort.abort();
    return this.#ended;
  }

  async #follow(states: AsyncIterable<T>): Promise<void> {
    for await (const state of states) this.states.push(state);
  }
}
