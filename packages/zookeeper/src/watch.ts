/** One watch: looks whenever something may have changed, and tells what it sees. */

import type { Clock, WatchOptions } from '@incumbent/core';
import { onAbort, StateStream } from '@incumbent/core/adapter';

import { endsWatch, toStoreError } from './errors.ts';
import type { Session } from './wire/session.ts';
import type { WatchEvent, WatchMode } from './wire/watch-ops.ts';

/** What is watched, and how it is looked at. */
export interface View<T> {
  readonly path: string;
  readonly mode: WatchMode;
  /** What is there; `surely`: no older than the call. Otherwise no older than what the connection has told last. */
  look(surely: boolean): Promise<T>;
  /** What an event says by itself, so that nobody needs to look. */
  told?(event: WatchEvent): { readonly state: T } | undefined;
}

/** A look that fails while the connection stands is tried again after so long. */
const RETRY_MS = 250;

/** What ends with the store. */
interface Closable {
  fail(error: unknown): void;
}

/** All watches of a store. */
export class WatchSet {
  readonly #session: Session;
  readonly #clock: Clock;
  readonly #open = new Set<Closable>();

  constructor(session: Session, clock: Clock) {
    this.#session = session;
    this.#clock = clock;
  }

  /** A watch for everyone who iterates: it begins when the first state is asked for. */
  watch<T>(view: View<T>, options: WatchOptions): AsyncIterable<T> {
    return {
      [Symbol.asyncIterator]: () => {
        const watch: Watch<T> = new Watch(this.#session, this.#clock, view, options, () => this.#open.delete(watch));
        this.#open.add(watch);
        return watch;
      },
    };
  }

  /** Ends them loudly. */
  fail(error: unknown): void {
    for (const watch of [...this.#open]) watch.fail(error);
  }
}

class Watch<T> implements AsyncIterator<T, void, undefined>, Closable {
  readonly #session: Session;
  readonly #clock: Clock;
  readonly #view: View<T>;
  readonly #options: WatchOptions;
  readonly #over: () => void;
  readonly #states = new StateStream<T>();
  readonly #stops: (() => void)[] = [];
  #started = false;
  #stopped = false;
  /** The server tells of changes. */
  #standing = false;
  /** The next look is the first since then. */
  #fresh = false;
  #dirty = false;
  #looking = false;
  #saidStale = false;
  /** Ends the wait before another look. */
  #wake: () => void = () => {};

  constructor(session: Session, clock: Clock, view: View<T>, options: WatchOptions, over: () => void) {
    this.#session = session;
    this.#clock = clock;
    this.#view = view;
    this.#options = options;
    this.#over = over;
  }

  next(): Promise<IteratorResult<T, void>> {
    if (!this.#started) this.#start();
    return this.#states.next();
  }

  return(): Promise<IteratorResult<T, void>> {
    this.#started = true;
    this.#stop();
    return Promise.resolve({ done: true, value: undefined });
  }

  fail(error: unknown): void {
    this.#states.fail(error);
    this.#stop();
  }

  #start(): void {
    this.#started = true;
    if (this.#stopped) return;
    this.#stops.push(onAbort(this.#options.signal, () => this.#stop()));
    if (this.#stopped) return;
    const { path, mode } = this.#view;
    this.#stops.push(
      this.#session.watch(path, mode, {
        changed: (event) => this.#changed(event),
        stale: (cause) => this.#fall(cause),
        ended: (cause) => this.fail(toStoreError(cause, 'watch')),
      }),
    );
  }

  #stop(): void {
    this.#stopped = true;
    for (const stop of this.#stops.splice(0)) stop();
    this.#wake();
    this.#states.end();
    this.#over();
  }

  /** Without an event: the watch stands, for the first time or again. */
  #changed(event: WatchEvent | undefined): void {
    if (this.#stopped) return;
    if (event === undefined) this.#standing = this.#fresh = true;
    const hasLooked = this.#standing && !this.#dirty && !this.#looking;
    const told = event !== undefined && hasLooked ? this.#view.told?.(event) : undefined;
    if (told !== undefined) return this.#show(told.state);
    this.#dirty = true;
    if (!this.#looking) void this.#look();
  }

  #fall(cause: unknown): void {
    this.#standing = false;
    this.#lose(cause);
  }

  /** One look at a time; another when something has changed meanwhile. What is seen when the watch does not stand would not be kept up to date. */
  async #look(): Promise<void> {
    this.#looking = true;
    while (this.#dirty && this.#standing && !this.#stopped) {
      const surely = this.#fresh;
      this.#dirty = this.#fresh = false;
      try {
        const state = await this.#view.look(surely);
        if (this.#standing && !this.#fresh && !this.#stopped) this.#show(state);
      } catch (error) {
        await this.#failed(error);
      }
    }
    this.#looking = false;
  }

  async #failed(thrown: unknown): Promise<void> {
    if (this.#stopped || !this.#standing) return;
    const reason = toStoreError(thrown, 'watch');
    if (endsWatch(reason)) return this.fail(reason);
    this.#lose(reason);
    this.#dirty = this.#fresh = true;
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = this.#clock.schedule(RETRY_MS, resolve);
    this.#wake = resolve;
    await promise;
    cancel();
  }

  #show(state: T): void {
    this.#saidStale = false;
    this.#states.put(() => state);
  }

  #lose(cause: unknown): void {
    if (this.#stopped || this.#saidStale) return;
    this.#saidStale = true;
    this.#states.drop();
    try {
      this.#options.onStale?.(toStoreError(cause, 'watch'));
    } catch (thrown) {
      this.fail(thrown);
    }
  }
}
