/**
 * The watches of one session. They are level-triggered: a listener hears that it should look, never what has changed. Watches die with their
 * connection; on the next one they are all made again, and then everybody looks.
 */

import type { Cancel } from '@incumbent/core';

import { ExchangeError, isCode } from '../connection/failure.ts';
import { OneShotWatch, type Ask } from './one-shot-watch.ts';
import { addWatch, removeWatch, type WatchEvent, type WatchMode } from '../protocol/watches.ts';

export interface WatchListener {
  /**
   * Look now: without an event the watch stands, for the first time or again; with one, this has happened, and more may have since. Servers before 3.6 tell
   * of no events.
   */
  changed(event?: WatchEvent): void;
  /** The connection is lost, and the watch with it. `changed` follows when it stands again. */
  stale(cause: ExchangeError): void;
  /** The watch has ended for good: the server refuses it, or the session is over. */
  ended(cause: ExchangeError): void;
}

export interface WatchLink {
  readonly ask: Ask;
  /** Ends the connection, so that all watches are made again on the next one. */
  reset(cause: ExchangeError): void;
  /** Runs `task` in a while, unless it is cancelled. */
  later(task: () => void): Cancel;
}

/** Codes that asking again does not mend. */
const REFUSALS = ['NOAUTH', 'AUTHFAILED', 'INVALIDACL', 'BADARGUMENTS'] as const;

/** All that listen to one path. */
interface PathWatch {
  readonly path: string;
  mode: WatchMode;
  readonly listeners: Set<WatchListener>;
  /** True while it stands, and every listener has been told so. */
  standing: boolean;
  /** The watch in place of a permanent one, where the server has none. */
  oneShot: OneShotWatch | undefined;
  /** Nobody listens any more, and the server is going to be told. */
  leaving: Cancel | undefined;
  /** The server would not have it now, and is going to be asked again. */
  retrying: Cancel | undefined;
}

export class Watches {
  readonly #link: WatchLink;
  readonly #paths = new Map<string, PathWatch>();
  /** Counts connections, so that what an earlier one says is known as such. */
  #connections = 0;
  #connected = false;
  #permanent = true;

  constructor(link: WatchLink) {
    this.#link = link;
  }

  get isEmpty(): boolean {
    return this.#paths.size === 0;
  }

  /** Until the answer is called. The node need not exist. */
  add(path: string, mode: WatchMode, listener: WatchListener): () => void {
    const watch = this.#watchOf(path, mode);
    watch.listeners.add(listener);
    const stands = watch.standing && (watch.mode === mode || watch.mode === 'tree');
    if (mode === 'tree') watch.mode = 'tree';
    if (stands) queueMicrotask(() => void (watch.standing && watch.listeners.has(listener) && listener.changed()));
    else if (this.#connected) void this.#arm(watch);
    return () => this.#remove(watch, listener);
  }

  /** There is a new connection, without watches. */
  connected(): void {
    this.#connections += 1;
    this.#connected = true;
    for (const watch of this.#paths.values()) void this.#arm(watch);
  }

  disconnected(cause: ExchangeError): void {
    this.#connected = false;
    for (const watch of [...this.#paths.values()]) {
      if (watch.listeners.size === 0) this.#forget(watch);
      this.#fall(watch, cause);
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
      listeners: new Set(),
      standing: false,
      oneShot: undefined,
      leaving: undefined,
      retrying: undefined,
    };
    this.#paths.set(path, watch);
    return watch;
  }

  #remove(watch: PathWatch, listener: WatchListener): void {
    if (!watch.listeners.delete(listener) || watch.listeners.size > 0 || this.#paths.get(watch.path) !== watch) return;
    // Not now: a wait that is over is followed by what it was for.
    watch.leaving = this.#link.later(() => this.#leave(watch));
  }

  #leave(watch: PathWatch): void {
    if (watch.listeners.size > 0 || this.#paths.get(watch.path) !== watch) return;
    this.#forget(watch);
    // One that the server keeps after all does no harm: nobody listens to what it tells.
    if (this.#connected && watch.oneShot === undefined) this.#link.ask(removeWatch, watch.path).catch(() => {});
  }

  #forget(watch: PathWatch): void {
    watch.leaving?.();
    watch.retrying?.();
    this.#paths.delete(watch.path);
  }

  #fall(watch: PathWatch, cause: ExchangeError): void {
    watch.retrying?.();
    watch.standing = false;
    for (const listener of [...watch.listeners]) listener.stale(cause);
  }

  #onEvent(watch: PathWatch, event: WatchEvent): void {
    const { oneShot } = watch;
    if (oneShot === undefined) tellChanged(watch, event);
    else void this.#stand(watch, () => oneShot.rearm(event));
  }

  #arm(watch: PathWatch): Promise<void> {
    const { path, mode } = watch;
    watch.oneShot = this.#permanent ? undefined : new OneShotWatch(path, mode, this.#link.ask);
    const { oneShot } = watch;
    if (oneShot !== undefined) return this.#stand(watch, () => oneShot.arm());
    return this.#stand(watch, () => this.#link.ask(addWatch, { path, mode }));
  }

  /** Tells the listeners to look when the server watches. */
  async #stand(watch: PathWatch, ask: () => Promise<unknown>): Promise<void> {
    const connection = this.#connections;
    try {
      await ask();
      if (this.#holds(watch, connection)) tellChanged(watch);
    } catch (error) {
      if (this.#holds(watch, connection)) this.#onFailure(watch, error);
    }
  }

  #holds(watch: PathWatch, connection: number): boolean {
    return this.#connected && connection === this.#connections && this.#paths.get(watch.path) === watch;
  }

  #onFailure(watch: PathWatch, error: unknown): void {
    const cause = error instanceof ExchangeError ? error : new ExchangeError({ kind: 'malformed' }, String(error), error);
    const { kind } = cause.failure;
    if (isCode(error, 'UNIMPLEMENTED') && watch.oneShot === undefined) {
      // A server before 3.6. It ends the connection, too; what is asked for on it in vain is asked for again on the next one.
      this.#permanent = false;
      void this.#arm(watch);
    } else if (isCode(cause, ...REFUSALS)) {
      this.#fail(watch, cause);
    } else if (kind === 'code') {
      this.#fall(watch, cause);
      watch.retrying = this.#link.later(() => void this.#arm(watch));
    } else {
      this.#link.reset(cause);
    }
  }

  #fail(watch: PathWatch, cause: ExchangeError): void {
    this.#forget(watch);
    watch.standing = false;
    for (const listener of [...watch.listeners]) listener.ended(cause);
  }
}

function tellChanged(watch: PathWatch, event?: WatchEvent): void {
  watch.standing = true;
  for (const listener of [...watch.listeners]) listener.changed(event);
}

/** The root's parent is empty. */
function parentOf(path: string): string {
  if (path === '/') return '';
  return path.slice(0, path.lastIndexOf('/')) || '/';
}
