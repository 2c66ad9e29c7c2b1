/** Watches of one key, and of all keys under a prefix. */

import type { Cancel, Clock, Entry, Key, WatchOptions } from '@incumbent/core';
import { watchStates, type WatchController } from '@incumbent/core/adapter';
import { CallTime, endsWatch, type MissingPermission, REREAD_MS, withGrant } from '@incumbent/network';

import { readNode } from './client/calls.ts';
import type { ZooKeeperSession } from './client/session.ts';
import type { WatchListener } from './client/watch-hub.ts';
import { ExchangeError, type Right, toStoreError } from './errors.ts';
import type { Namespace } from './namespace.ts';
import type { WatchEvent, WatchMode } from './protocol/watches.ts';
import { list, type Reads } from './reads.ts';

/** What is watched, and how its state is read. */
export interface WatchTarget<T> {
  readonly path: string;
  readonly mode: WatchMode;
  /**
   * Reads the state. `fresh`: no older than this call. Otherwise no older than what the connection
   * has reported.
   */
  read(fresh: boolean): Promise<T>;
  /** The state, if the event alone says it, so that nothing has to be read. */
  stateAfter?(event: WatchEvent): { readonly state: T } | undefined;
}

export interface WatchContext {
  readonly session: ZooKeeperSession;
  readonly clock: Clock;
  readonly namespace: Namespace;
  readonly reads: Reads;
  /** What the user lacks if the servers deny a call on these paths. */
  missing(right: Right, paths: readonly string[]): MissingPermission;
}

/** How long one read may take. */
const READ = { timeoutMs: 5_000, background: true } as const;

/**
 * One key. Without values, the watch shows only whether the key exists. A class instead of
 * closures, because a process may watch thousands of keys.
 */
export class KeyTarget implements WatchTarget<Entry | undefined> {
  readonly path: string;
  readonly #context: WatchContext;
  readonly #values: boolean;

  constructor(context: WatchContext, key: Key, values: boolean) {
    this.#context = context;
    this.path = context.namespace.path(key);
    this.#values = values;
  }

  get mode(): WatchMode {
    return 'node';
  }

  async read(fresh: boolean): Promise<Entry | undefined> {
    const { session, reads, namespace } = this.#context;
    const data = fresh ? await reads.data(this.path, READ) : await readNode(session, this.path, READ);
    return data === undefined ? undefined : namespace.entry(this.path, data);
  }

  stateAfter({ path, kind }: WatchEvent): { readonly state: Entry | undefined } | undefined {
    if (path !== this.path) return undefined;
    if (kind === 'deleted') return { state: undefined };
    // A swap that checks that a key is absent creates and deletes its node in one step. The server
    // reports both, so this may show a key that never existed, and its absence at once afterwards.
    // A read after `created` would avoid that, but the candidates in the window behind the next in
    // line would each read at every failover.
    const exists = kind === 'created' || kind === 'dataChanged';
    return exists && !this.#values ? { state: this.#context.namespace.bareEntry(path) } : undefined;
  }
}

export function listTarget({ clock, reads, namespace }: WatchContext, prefix: Key): WatchTarget<readonly Entry[]> {
  return {
    path: namespace.path(prefix),
    mode: 'tree',
    read: () => list(reads, namespace, prefix, {}, new CallTime(clock, READ, ExchangeError)),
  };
}

/** All open watches of a store. */
export class WatchSet {
  readonly #context: WatchContext;
  readonly #open = new Set<{ fail(error: unknown): void }>();

  constructor(context: WatchContext) {
    this.#context = context;
  }

  watch<T>(target: WatchTarget<T>, options: WatchOptions): AsyncIterable<T> {
    return watchStates((controller: WatchController<T>) => this.#begin(target, controller), unchanged<T>, options);
  }

  /** Ends all watches with this error. */
  fail(error: unknown): void {
    for (const watch of [...this.#open]) watch.fail(error);
  }

  #begin<T>(target: WatchTarget<T>, controller: WatchController<T>): Cancel {
    const watch = new Watch(this.#context, target, controller);
    this.#open.add(watch);
    watch.start();
    return () => {
      this.#open.delete(watch);
      watch.stop();
    };
  }
}

/** A watch of the contract yields the states as they are read. */
function unchanged<T>(state: T): T {
  return state;
}

/** One watch: reads whenever something may have changed, and shows what it has read. */
class Watch<T> implements WatchListener {
  readonly #session: ZooKeeperSession;
  readonly #clock: Clock;
  readonly #missing: WatchContext['missing'];
  readonly #target: WatchTarget<T>;
  readonly #controller: WatchController<T>;
  #stopped = false;
  /** Whether the server reports changes. */
  #active = false;
  /** Whether the next read is the first since the server reports changes. */
  #fresh = false;
  /** Whether something may have changed since the last read began. */
  #dirty = false;
  #reading = false;
  /** Ends the pause before another read. */
  #endPause: (() => void) | undefined;

  constructor({ session, clock, missing }: WatchContext, target: WatchTarget<T>, controller: WatchController<T>) {
    this.#session = session;
    this.#clock = clock;
    this.#missing = missing;
    this.#target = target;
    this.#controller = controller;
  }

  start(): void {
    this.#session.watch(this.#target.path, this.#target.mode, this);
  }

  stop(): void {
    this.#stopped = true;
    this.#session.unwatch(this.#target.path, this);
    this.#endPause?.();
  }

  /** Ends the watch of the contract. If a right is missing, the error names it. */
  fail(error: unknown): void {
    this.#controller.fail(withGrant(error, () => this.#missing('read', [this.#target.path])));
  }

  changed(event?: WatchEvent): void {
    if (this.#stopped) return;
    if (event === undefined) this.#active = this.#fresh = true;
    const isUpToDate = this.#active && !this.#dirty && !this.#reading;
    const known = event !== undefined && isUpToDate ? this.#target.stateAfter?.(event) : undefined;
    if (known !== undefined) return this.#controller.show(known.state);
    this.#dirty = true;
    if (!this.#reading) void this.#read();
  }

  stale(cause: ExchangeError): void {
    this.#active = false;
    this.#controller.lose(toStoreError(cause, 'watch'));
  }

  ended(cause: ExchangeError): void {
    this.fail(toStoreError(cause, 'watch'));
  }

  /**
   * One read at a time, and another one if something has changed meanwhile. What was read while the
   * server did not report changes is not shown, because nothing would keep it up to date.
   */
  async #read(): Promise<void> {
    this.#reading = true;
    while (this.#dirty && this.#active && !this.#stopped) {
      const fresh = this.#fresh;
      this.#dirty = this.#fresh = false;
      try {
        const state = await this.#target.read(fresh);
        if (this.#active && !this.#fresh && !this.#stopped) this.#controller.show(state);
      } catch (error) {
        await this.#failed(error);
      }
    }
    this.#reading = false;
  }

  async #failed(thrown: unknown): Promise<void> {
    if (this.#stopped || !this.#active) return;
    const reason = toStoreError(thrown, 'watch');
    if (endsWatch(reason)) return this.fail(reason);
    this.#controller.lose(reason);
    this.#dirty = this.#fresh = true;
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = this.#clock.schedule(REREAD_MS, resolve);
    this.#endPause = resolve;
    await promise;
    cancel();
  }
}
