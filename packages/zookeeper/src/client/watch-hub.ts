/**
 * What the watches of one session share. The watches are level-triggered: an event makes a listener
 * read again, and does not carry the state to show. A server forgets its watches when the
 * connection ends. On the next connection all of them are set again, and then every listener reads.
 */

import type { Cancel } from '@incumbent/core';

import { ExchangeError, isCode } from '../errors.ts';
import { addWatch, removeWatch, type WatchEvent, type WatchMode } from '../protocol/watches.ts';
import { OneShotWatch, type Ask } from './one-shot-watch.ts';

export interface WatchListener {
  /**
   * Read now. Without an event: the server has set the watch, for the first time or again. With an
   * event: this change happened, and more may have happened since. Servers before 3.6 report no
   * events.
   */
  changed(event?: WatchEvent): void;
  /**
   * The connection is lost, and the watch with it. `changed` follows when the watch is set again.
   */
  stale(cause: ExchangeError): void;
  /** The watch has ended for good: the server refuses it, or the session is over. */
  ended(cause: ExchangeError): void;
}

export interface WatchLink {
  readonly ask: Ask;
  /** Ends the connection, so that all watches are set again on the next one. */
  reset(cause: ExchangeError): void;
  /** Runs `task` in a while, unless it is cancelled. */
  later(task: () => void): Cancel;
}

/** The codes that a server would answer again. */
const REFUSALS = ['NOAUTH', 'AUTHFAILED', 'INVALIDACL', 'BADARGUMENTS'] as const;

/** The listeners of one path. */
interface PathWatch {
  readonly path: string;
  mode: WatchMode;
  /** An array, because most paths have one listener, and a session may watch thousands of paths. */
  listeners: readonly WatchListener[];
  /** True while the server reports changes, and every listener was notified of that. */
  active: boolean;
  /** Replaces the persistent watch on a server that has none. */
  oneShot: OneShotWatch | undefined;
  /** Cancels the removal of the watch, which is scheduled because nobody listens any more. */
  leaving: Cancel | undefined;
  /** Cancels the next try, which is scheduled because the server refused for now. */
  retrying: Cancel | undefined;
}

export class WatchHub {
  readonly #link: WatchLink;
  readonly #paths = new Map<string, PathWatch>();
  /** Counts connections, so that an answer of an earlier one is recognised. */
  #connections = 0;
  #connected = false;
  /** False once a server turned out to have no persistent watches. */
  #persistent = true;

  constructor(link: WatchLink) {
    this.#link = link;
  }

  get isEmpty(): boolean {
    return this.#paths.size === 0;
  }

  /** Adds a listener until `remove`. The node need not exist. */
  add(path: string, mode: WatchMode, listener: WatchListener): void {
    const watch = this.#watchOf(path, mode);
    watch.listeners = [...watch.listeners, listener];
    const isActive = watch.active && (watch.mode === mode || watch.mode === 'tree');
    if (mode === 'tree') watch.mode = 'tree';
    if (isActive) queueMicrotask(() => void (watch.active && watch.listeners.includes(listener) && listener.changed()));
    else if (this.#connected) void this.#arm(watch);
  }

  /** Has no effect if the listener is not there, or has ended. */
  remove(path: string, listener: WatchListener): void {
    const watch = this.#paths.get(path);
    const left = watch?.listeners.filter((other) => other !== listener);
    if (watch === undefined || left === undefined || left.length === watch.listeners.length) return;
    watch.listeners = left;
    // Deferred, so that the caller's next requests go first.
    if (left.length === 0) watch.leaving = this.#link.later(() => this.#leave(watch));
  }

  /** There is a new connection, which has no watches. */
  connected(): void {
    this.#connections += 1;
    this.#connected = true;
    for (const watch of this.#paths.values()) void this.#arm(watch);
  }

  disconnected(cause: ExchangeError): void {
    this.#connected = false;
    for (const watch of [...this.#paths.values()]) {
      if (watch.listeners.length === 0) this.#forget(watch);
      this.#lose(watch, cause);
    }
  }

  /** The session is over. */
  end(cause: ExchangeError): void {
    this.#connected = false;
    for (const watch of [...this.#paths.values()]) this.#fail(watch, cause);
  }

  onEvent(event: WatchEvent): void {
    if (!this.#connected) return;
    for (let path = event.path; path !== ''; path = parentOf(path)) {
      const watch = this.#paths.get(path);
      if (watch !== undefined && (path === event.path || watch.mode === 'tree')) this.#onEvent(watch, event);
    }
  }

  #watchOf(path: string, mode: WatchMode): PathWatch {
    const known = this.#paths.get(path);
    known?.leaving?.();
    if (known !== undefined) return known;
    const watch: PathWatch = {
      path,
      mode,
      listeners: [],
      active: false,
      oneShot: undefined,
      leaving: undefined,
      retrying: undefined,
    };
    this.#paths.set(path, watch);
    return watch;
  }

  #leave(watch: PathWatch): void {
    if (watch.listeners.length > 0 || this.#paths.get(watch.path) !== watch) return;
    this.#forget(watch);
    // A watch that the server keeps does no harm: nobody listens to its events.
    if (this.#connected && watch.oneShot === undefined) this.#link.ask(removeWatch, watch.path).catch(() => {});
  }

  #forget(watch: PathWatch): void {
    watch.leaving?.();
    watch.retrying?.();
    this.#paths.delete(watch.path);
  }

  #lose(watch: PathWatch, cause: ExchangeError): void {
    watch.retrying?.();
    watch.active = false;
    for (const listener of watch.listeners) listener.stale(cause);
  }

  #onEvent(watch: PathWatch, event: WatchEvent): void {
    const { oneShot } = watch;
    if (oneShot === undefined) notify(watch, event);
    else void this.#activate(watch, () => oneShot.rearm(event));
  }

  #arm(watch: PathWatch): Promise<void> {
    const { path, mode } = watch;
    watch.oneShot = this.#persistent ? undefined : new OneShotWatch(path, mode, this.#link.ask);
    const { oneShot } = watch;
    if (oneShot !== undefined) return this.#activate(watch, () => oneShot.arm());
    return this.#activate(watch, () => this.#link.ask(addWatch, { path, mode }));
  }

  /** Tells the listeners to read as soon as the server has set the watch. */
  async #activate(watch: PathWatch, ask: () => Promise<unknown>): Promise<void> {
    const connection = this.#connections;
    try {
      await ask();
      if (this.#isCurrent(watch, connection)) notify(watch);
    } catch (error) {
      if (this.#isCurrent(watch, connection)) this.#onFailure(watch, error);
    }
  }

  #isCurrent(watch: PathWatch, connection: number): boolean {
    return this.#connected && connection === this.#connections && this.#paths.get(watch.path) === watch;
  }

  #onFailure(watch: PathWatch, error: unknown): void {
    const cause = error instanceof ExchangeError ? error : new ExchangeError({ kind: 'malformed' }, String(error), error);
    const { kind } = cause.failure;
    if (isCode(error, 'UNIMPLEMENTED') && watch.oneShot === undefined) {
      // A server before 3.6. It also closes the connection; the next one sets the watch again.
      this.#persistent = false;
      void this.#arm(watch);
    } else if (isCode(cause, ...REFUSALS)) {
      this.#fail(watch, cause);
    } else if (kind === 'code') {
      this.#lose(watch, cause);
      watch.retrying = this.#link.later(() => void this.#arm(watch));
    } else {
      this.#link.reset(cause);
    }
  }

  #fail(watch: PathWatch, cause: ExchangeError): void {
    this.#forget(watch);
    watch.active = false;
    for (const listener of watch.listeners) listener.ended(cause);
  }
}

function notify(watch: PathWatch, event?: WatchEvent): void {
  watch.active = true;
  for (const listener of watch.listeners) listener.changed(event);
}

/** Empty for the root. */
function parentOf(path: string): string {
  if (path === '/') return '';
  return path.slice(0, path.lastIndexOf('/')) || '/';
}
