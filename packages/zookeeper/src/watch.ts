/** One watch: looks whenever something may have changed, and tells what it sees. */

import type { Cancel, Clock, WatchOptions } from '@incumbent/core';
import { watchStates, type WatchController } from '@incumbent/core/adapter';

import { endsWatch, toStoreError } from './errors.ts';
import type { ExchangeError } from './connection/failure.ts';
import type { Session } from './client/session.ts';
import type { WatchEvent, WatchMode } from './protocol/watches.ts';
import type { WatchListener } from './client/watch-hub.ts';

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

/** All watches of a store. */
export class WatchSet {
  readonly #session: Session;
  readonly #clock: Clock;
  readonly #open = new Set<Pick<WatchController<never>, 'fail'>>();

  constructor(session: Session, clock: Clock) {
    this.#session = session;
    this.#clock = clock;
  }

  watch<T>(view: View<T>, options: WatchOptions): AsyncIterable<T> {
    const begin = (watch: WatchController<T>): Cancel => {
      this.#open.add(watch);
      const stop = new Watch(this.#session, this.#clock, view, watch).start();
      return () => {
        this.#open.delete(watch);
        stop();
      };
    };
    return watchStates(begin, (state) => state, options);
  }

  /** Ends them loudly. */
  fail(error: unknown): void {
    for (const watch of [...this.#open]) watch.fail(error);
  }
}

class Watch<T> implements WatchListener {
  readonly #session: Session;
  readonly #clock: Clock;
  readonly #view: View<T>;
  readonly #controller: WatchController<T>;
  #stopped = false;
  /** The server tells of changes. */
  #standing = false;
  /** The next look is the first since then. */
  #fresh = false;
  #dirty = false;
  #looking = false;
  /** Ends the wait before another look. */
  #wake: (() => void) | undefined;

  constructor(session: Session, clock: Clock, view: View<T>, controller: WatchController<T>) {
    this.#session = session;
    this.#clock = clock;
    this.#view = view;
    this.#controller = controller;
  }

  start(): Cancel {
    const { path, mode } = this.#view;
    const leave = this.#session.watch(path, mode, this);
    return () => {
      this.#stopped = true;
      leave();
      this.#wake?.();
    };
  }

  changed(event?: WatchEvent): void {
    if (this.#stopped) return;
    if (event === undefined) this.#standing = this.#fresh = true;
    const hasLooked = this.#standing && !this.#dirty && !this.#looking;
    const told = event !== undefined && hasLooked ? this.#view.told?.(event) : undefined;
    if (told !== undefined) return this.#controller.show(told.state);
    this.#dirty = true;
    if (!this.#looking) void this.#look();
  }

  stale(cause: ExchangeError): void {
    this.#standing = false;
    this.#controller.lose(toStoreError(cause, 'watch'));
  }

  ended(cause: ExchangeError): void {
    this.#controller.fail(toStoreError(cause, 'watch'));
  }

  /** One look at a time; another when something has changed meanwhile. What is seen when the watch does not stand would not be kept up to date. */
  async #look(): Promise<void> {
    this.#looking = true;
    while (this.#dirty && this.#standing && !this.#stopped) {
      const surely = this.#fresh;
      this.#dirty = this.#fresh = false;
      try {
        const state = await this.#view.look(surely);
        if (this.#standing && !this.#fresh && !this.#stopped) this.#controller.show(state);
      } catch (error) {
        await this.#failed(error);
      }
    }
    this.#looking = false;
  }

  async #failed(thrown: unknown): Promise<void> {
    if (this.#stopped || !this.#standing) return;
    const reason = toStoreError(thrown, 'watch');
    if (endsWatch(reason)) return this.#controller.fail(reason);
    this.#controller.lose(reason);
    this.#dirty = this.#fresh = true;
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = this.#clock.schedule(RETRY_MS, resolve);
    this.#wake = resolve;
    await promise;
    cancel();
  }
}
