/**
 * Faults inside a broker: cuts it off from the store and the other brokers, and stops it at the
 * worst moments.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { isRetryable, type Store, StoreError, type SwapResult, type WatchOptions } from 'incumbent';
import { PARTITIONS } from './keys.ts';

const ASK_AGAIN_EVERY_MS = 20;
const ASK_AGAIN_FOR_MS = 10_000;

/** A moment after all checks have passed and before the checked message is sent. */
export type Moment =
  /** Before a controller's write to the store. */
  | 'write'
  /** Before a controller's request to another broker. */
  | 'request';

export interface FaultsOptions {
  /** Stops the process. */
  readonly stopping: (before: Moment) => void;
  /** The store has rejected a write after such a stop. */
  readonly refused: () => void;
}

export class Faults {
  readonly #options: FaultsOptions;
  #cut: PromiseWithResolvers<void> | undefined;
  #cutting = new AbortController();
  #armed: Moment | undefined;

  constructor(options: FaultsOptions) {
    this.#options = options;
  }

  get isCutOff(): boolean {
    return this.#cut !== undefined;
  }

  cutOff(): void {
    this.#cut ??= Promise.withResolvers<void>();
    this.#cutting.abort();
  }

  heal(): void {
    if (this.#cut === undefined) return;
    this.#cutting = new AbortController();
    this.#cut.resolve();
    this.#cut = undefined;
  }

  /**
   * The moment at which the process stops itself next (SIGSTOP, until SIGCONT). Undefined for none.
   */
  stopBefore(moment: Moment | undefined): void {
    this.#armed = moment;
  }

  /** Whether the process was stopped here and has continued. */
  pass(moment: Moment): boolean {
    if (this.#armed !== moment) return false;
    this.#armed = undefined;
    this.#options.stopping(moment);
    process.kill(process.pid, 'SIGSTOP'); // nothing runs here until somebody sends SIGCONT
    return true;
  }

  /** @throws An error while the broker is cut off. */
  check(): void {
    if (this.isCutOff) throw new StoreError('UNREACHABLE', 'notSent', 'cut off');
  }

  /** The store, which this broker cannot reach while it is cut off. */
  within(store: Store): Store {
    const through = async <T>(task: () => Promise<T>): Promise<T> => {
      this.check();
      return task();
    };
    return {
      name: store.name,
      capabilities: store.capabilities,
      grantLease: (ttlMs, options) => through(() => store.grantLease(ttlMs, options)),
      renewLease: (lease, options) => through(() => store.renewLease(lease, options)),
      revokeLease: (lease, options) => through(() => store.revokeLease(lease, options)),
      compareAndSwap: (changes, options) =>
        through(async () => {
          const isControllers = changes.some(({ key }) => key.startsWith(`${PARTITIONS}/`));
          const woken = isControllers && this.pass('write');
          return woken ? this.#late(() => store.compareAndSwap(changes, options)) : store.compareAndSwap(changes, options);
        }),
      enqueue: (prefix, name, value, lease, options) => through(() => store.enqueue(prefix, name, value, lease, options)),
      read: (key, options) => through(() => store.read(key, options)),
      list: (prefix, options) => through(() => store.list(prefix, options)),
      watch: (key, options) => this.#watched(options, (signal) => store.watch(key, { ...options, signal })),
      watchList: (prefix, options) => this.#watched(options, (signal) => store.watchList(prefix, { ...options, signal })),
      close: () => store.close(),
      [Symbol.asyncDispose]: () => store.close(),
    };
  }

  /**
   * Retries until the store answers, because the connection may have died in the pause. A stale
   * write can be repeated any number of times.
   */
  async #late(write: () => Promise<SwapResult>): Promise<SwapResult> {
    const until = performance.now() + ASK_AGAIN_FOR_MS;
    for (;;) {
      try {
        const result = await write();
        if (!result.swapped) this.#options.refused();
        return result;
      } catch (error) {
        if (!isRetryable(error) || performance.now() > until) throw error;
      }
      await sleep(ASK_AGAIN_EVERY_MS);
    }
  }

  async *#watched<T>(
    { signal = new AbortController().signal, onStale }: WatchOptions = {},
    watch: (signal: AbortSignal) => AsyncIterable<T>,
  ): AsyncGenerator<T, void, undefined> {
    while (!signal.aborted) {
      if (this.#cut === undefined) yield* watch(AbortSignal.any([signal, this.#cutting.signal]));
      else {
        onStale?.(new StoreError('UNREACHABLE', 'notSent', 'cut off'));
        await Promise.race([this.#cut.promise, aborted(signal)]);
      }
    }
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  signal.addEventListener('abort', () => resolve(), { once: true });
  return promise;
}
