/**
 * Notices what other processes do. SQLite tells nobody, so the file is asked whether it has changed: every 10 ms while somebody waits for another
 * process, else every 100. A change of the log, where the system tells of one, makes it ask at once. With it, it is noticed when a lease ends, and when a process has died
 * whose lease holds what is watched.
 */

import type { LeaseId, StoreError } from '@incumbent/core';

import type { Census } from './holder-monitor.ts';
import type { Database } from './client/database.ts';
import { endsWatch, toStoreError } from './errors.ts';
import type { Hints } from './host/log-watcher.ts';
import type { Host } from './host/host.ts';
import type { Tables } from './schema/tables.ts';
import type { Views } from './watch-hub.ts';

const WAITING_MS = 10;
const RESTING_MS = 100;
/** Where the system gives hints, the file is asked less often without one; and after one for so many times, as a slow disk shows a commit late. */
const UNHINTED_EVERY = 5;
const HINTED_TIMES = 20;
/** Whether the file is still the one at its path is looked for less often while somebody waits: it costs as much as all the rest. Calls look themselves. */
const REPLACED_EVERY = 10;
/** A hint comes before what it tells of can be read: when a commit is written, and not yet synced. */
const HINTED_MS: readonly number[] = [0, 1, 1, 2, 4];
/** So long nothing may be read before watches say that they are stale. */
const STALE_MS = 1_000;

export interface PulseContext {
  readonly database: Database;
  readonly host: Host;
  readonly views: Views;
  readonly own: ReadonlySet<LeaseId>;
  readonly census: Census;
  readonly hints: Hints;
}

export class Pulse {
  readonly #context: PulseContext;
  #timer: NodeJS.Timeout | undefined;
  /** When it fires, by performance.now(). */
  #timerAt = Infinity;
  #version: string | undefined;
  #nextEndUs = Infinity;
  #waits = false;
  #beats = 0;
  #hintedTimes = HINTED_TIMES;
  #hinted: number[] = [];
  #failingSince: number | undefined;

  constructor(context: PulseContext) {
    this.#context = context;
  }

  /** A watch was begun, and waits for its first state; or this process has written: SQLite does not tell a connection of its own changes. */
  stir(): void {
    this.#version = undefined;
    if (!this.#context.views.isEmpty) this.#beatIn(0);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timerAt = Infinity;
    this.#context.hints.stop();
  }

  #hint(): void {
    this.#hintedTimes = HINTED_TIMES;
    if (this.#hinted.length === 0) this.#hinted = [...HINTED_MS];
    this.#beatIn(this.#hinted.shift() ?? 0);
  }

  /** In so long at the latest: where hints come without end, none may put off what the former one has brought about. */
  #beatIn(delayMs: number): void {
    const at = performance.now() + delayMs;
    if (at >= this.#timerAt) return;
    this.#timerAt = at;
    clearTimeout(this.#timer);
    // Never what keeps a process alive.
    this.#timer = setTimeout(() => this.#beat(), delayMs).unref();
  }

  #beat(): void {
    this.#timerAt = Infinity;
    if (this.#context.views.isEmpty) return this.stop();
    this.#context.hints.start(() => this.#hint());
    try {
      this.#look();
      this.#endDead();
      this.#failingSince = undefined;
    } catch (error) {
      this.#failed(toStoreError(error, this.#context.database.path));
    }
    if (!this.#context.views.isEmpty) this.#beatIn(this.#hinted.shift() ?? (this.#waits ? WAITING_MS : RESTING_MS));
  }

  #look(): void {
    const { database, host, views, own, census } = this.#context;
    this.#beats += 1;
    if (!this.#mustAsk()) return;
    const version = database.version(!this.#waits || this.#beats % REPLACED_EVERY === 0);
    // One instant for all: no lease may end between the question whether one has ended and the question which one is next.
    const nowUs = host.nowUs();
    const isDue = nowUs >= this.#nextEndUs;
    if (version === this.#version && !isDue && this.#failingSince === undefined) return;
    if (isDue) this.#sweep();
    const pulse = database.lookAt(nowUs, (tables) => tables.pulse());
    // A renewal changes the file, and nothing that is watched.
    const isChanged = database.lookAt(nowUs, (tables) => views.look(tables, pulse, isDue, () => database.checkInTime(nowUs)));
    if (isChanged) this.#waits = census.waits((lease) => own.has(lease));
    // Not before all was read: a look that failed is to be had again.
    this.#version = version;
    this.#nextEndUs = pulse.nextEndUs;
    this.#hinted = [];
  }

  /** At every beat, but where it would be told of a change. */
  #mustAsk(): boolean {
    this.#hintedTimes -= 1;
    const { hints, host } = this.#context;
    if (this.#hintedTimes >= 0 || !hints.isOn || !this.#waits || this.#version === undefined || this.#failingSince !== undefined)
      return true;
    return this.#beats % UNHINTED_EVERY === 0 || host.nowUs() >= this.#nextEndUs;
  }

  /** For whoever looks at the file itself: what has ended is not shown any more, swept away or not. */
  #sweep(): void {
    this.#tryTo((tables) => tables.sweep());
  }

  #endDead(): void {
    const dead = this.#context.census.dead();
    if (dead.length === 0) return;
    this.#tryTo((tables) => tables.endLeases(dead));
    this.stir();
  }

  /** Somebody else may be writing, perhaps the same; or nobody can, on a full disk. What was read is true all the same. */
  #tryTo(work: (tables: Tables) => void): void {
    try {
      this.#context.database.change(false, work);
    } catch {
      // It is tried again when it is due again.
    }
  }

  #failed(cause: StoreError): void {
    if (endsWatch(cause)) return this.#context.views.fail(cause);
    this.#failingSince ??= performance.now();
    if (performance.now() - this.#failingSince >= STALE_MS) this.#context.views.lose(cause);
  }
}
