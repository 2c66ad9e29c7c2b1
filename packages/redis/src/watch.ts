/** One watch: a mirror, filled by a look when the link stands, and kept up to date by what is told on it. */

import type { Cancel, Clock, LeaseId, WatchOptions } from '@incumbent/core';
import { watchStates, type WatchController } from '@incumbent/core/adapter';

import type { Change } from './protocol/changes.ts';
import { endsWatch, toStoreError } from './errors.ts';
import type { Look } from './reads.ts';
import type { Mirror } from './watch-state.ts';
import type { Row } from './namespace.ts';

/** What a watch is part of. */
export interface WatchHome {
  readonly clock: Clock;
  /** The watch wants to stand: it is told to by `stand`, at once if there is a link. */
  add(watch: AnyWatch): void;
  remove(watch: AnyWatch): void;
  /** Rejects when the link is lost, or the server does not answer as it should. */
  look(what: Look): Promise<readonly Row[]>;
  /** The watch depends on the leases of these rows. */
  follow(watch: AnyWatch, rows: Iterable<Row>): void;
}

/** A watch, whatever it shows. */
export interface AnyWatch {
  readonly what: Look;
  /** The link is there, and changes are told on it: look. */
  stand(): void;
  /** The link is lost. */
  fall(cause: unknown): void;
  /** Changes of its keys. */
  hear(changes: readonly Change[]): void;
  /** Something may have changed. */
  doubt(): void;
  /** A lease that it depends on is gone. */
  drop(lease: LeaseId): void;
  fail(error: unknown): void;
}

/** A look that fails while the link stands is tried again after so long. */
const RETRY_MS = 250;

export function watchMirror<T>(home: WatchHome, mirror: () => Mirror<T>, options: WatchOptions): AsyncIterable<T> {
  return watchStates((watch) => new Watch(home, mirror(), watch).start(), stateOf<T>, options);
}

function stateOf<T>(mirror: Mirror<T>): T {
  return mirror.state();
}

class Watch<T> implements AnyWatch {
  readonly #home: WatchHome;
  readonly #mirror: Mirror<T>;
  readonly #controller: WatchController<Mirror<T>>;
  #cancelRetry: Cancel | undefined;
  #standing = false;
  #looking = false;
  /** The mirror has all that was looked at on this link, and was told since. */
  #isWhole = false;
  /** Something has changed since the look that is under way began. */
  #again = false;

  constructor(home: WatchHome, mirror: Mirror<T>, controller: WatchController<Mirror<T>>) {
    this.#home = home;
    this.#mirror = mirror;
    this.#controller = controller;
  }

  get what(): Look {
    return this.#mirror.look;
  }

  start(): Cancel {
    this.#home.add(this);
    return () => {
      this.#standing = false;
      this.#cancelRetry?.();
      this.#home.remove(this);
    };
  }

  fail(error: unknown): void {
    this.#controller.fail(error);
  }

  stand(): void {
    this.#standing = true;
    this.doubt();
  }

  fall(cause: unknown): void {
    this.#standing = false;
    this.#isWhole = false;
    this.#lose(cause);
  }

  hear(changes: readonly Change[]): void {
    if (!this.#standing || this.#looking) return this.doubt();
    // A look is due.
    if (!this.#isWhole) return;
    if (!this.#mirror.apply(changes)) return this.doubt();
    this.#show();
  }

  drop(lease: LeaseId): void {
    if (!this.#standing || this.#looking) return this.doubt();
    if (!this.#isWhole) return;
    this.#mirror.drop(lease);
    this.#show();
  }

  doubt(): void {
    this.#again = true;
    if (!this.#looking) void this.#look();
  }

  /** One look at a time. What is seen while something changes is shown all the same, and looked at again: where changes do not end, so would the wait. */
  async #look(): Promise<void> {
    this.#looking = true;
    while (this.#again && this.#standing) {
      this.#again = false;
      try {
        const rows = await this.#home.look(this.what);
        if (!this.#standing) break;
        this.#mirror.reset(rows);
        this.#isWhole = true;
        this.#show();
      } catch (error) {
        if (this.#standing) this.#failed(error);
        break;
      }
    }
    this.#looking = false;
    // It fell and stands again already.
    if (this.#again && this.#standing) void this.#look();
  }

  #failed(error: unknown): void {
    const reason = toStoreError(error, 'watch');
    if (endsWatch(reason)) return this.fail(reason);
    this.#again = false;
    this.#isWhole = false;
    this.#lose(reason);
    this.#cancelRetry?.();
    this.#cancelRetry = this.#home.clock.schedule(RETRY_MS, () => {
      if (this.#standing) this.doubt();
    });
  }

  #show(): void {
    this.#home.follow(this, this.#mirror.rows());
    this.#controller.show(this.#mirror);
  }

  #lose(cause: unknown): void {
    this.#controller.lose(toStoreError(cause, 'watch'));
  }
}
