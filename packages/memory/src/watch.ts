/** The client's side of one watch. Shows what has arrived, and opens again after every outage. */

import type { Cancel, Key, StoreError } from '@incumbent/core';
import type { WatchController } from '@incumbent/core/adapter';
import type { Connection, ConnectionListener } from './client/connection.ts';
import { watchMessageLost } from './errors.ts';
import type { Watcher, Watchers } from './watch-hub.ts';

/** The pause before a watch opens again after one of its messages was lost. */
const RETRY_MS = 100;

/** What all watches of keys of one client share, or all watches of lists. */
export interface WatchContext<S> {
  readonly connection: Connection;
  /** Where the server finds the watches. */
  readonly watchers: Watchers;
  /** The state at the server. */
  read(path: Key): S;
}

export class Watch<S> implements ConnectionListener, Watcher {
  readonly path: Key;
  readonly #context: WatchContext<S>;
  readonly #controller: WatchController<S>;
  #cancelRetry: Cancel | undefined;
  /** Messages of an earlier opening are ignored. */
  #opening = 0;
  #isOpen = false;
  /** How many states the server has sent, and the number of the newest one that has arrived. */
  #sent = 0;
  #arrived = 0;

  /** `path`: the key at the server, or the prefix of the list. */
  constructor(context: WatchContext<S>, path: Key, controller: WatchController<S>) {
    this.#context = context;
    this.path = path;
    this.#controller = controller;
  }

  /** Starts the watch, and returns what stops it. */
  start(): Cancel {
    const { connection } = this.#context;
    const { outage } = connection;
    connection.subscribe(this);
    if (outage === undefined) this.#open();
    else if (outage.code === 'STORE_CLOSED') this.closed(outage);
    else this.#lose(outage);
    return () => this.#stop();
  }

  cut(cause: StoreError): void {
    this.#lose(cause);
  }

  silent(cause: StoreError): void {
    this.#lose(cause);
  }

  reset(cause: StoreError): void {
    this.#lose(cause);
  }

  healed(): void {
    if (!this.#isOpen) this.#open();
  }

  closed(cause: StoreError): void {
    this.#controller.fail(cause);
  }

  #stop(): void {
    this.#drop();
    this.#context.connection.unsubscribe(this);
  }

  #open(): void {
    this.#drop();
    this.#isOpen = true;
    const opening = this.#opening;
    this.#context.connection.send(
      { kind: 'watch' },
      () => this.#serve(opening),
      () => this.#retry(opening),
    );
  }

  /** Runs at the server: sends the state now, and after every change. */
  #serve(opening: number): void {
    if (opening !== this.#opening) return;
    this.#context.watchers.add(this);
    this.changed();
  }

  /** Runs at the server. */
  changed(): void {
    if (!this.#isOpen) return;
    const [opening, number, state] = [this.#opening, ++this.#sent, this.#context.read(this.path)];
    const receive = (): void => {
      // With varying latencies, an event can overtake another. Only the newest one is shown.
      if (opening !== this.#opening || number < this.#arrived) return;
      this.#arrived = number;
      this.#controller.show(state);
    };
    this.#context.connection.send({ kind: 'event' }, receive, () => this.#retry(opening));
  }

  /** A stream that loses a message loses its connection. */
  #retry(opening: number): void {
    if (opening !== this.#opening) return;
    this.#lose(watchMessageLost());
    const { connection } = this.#context;
    this.#cancelRetry = connection.clock.schedule(RETRY_MS, () => {
      if (connection.outage === undefined) this.healed();
    });
  }

  #lose(cause: StoreError): void {
    this.#drop();
    this.#controller.lose(cause);
  }

  #drop(): void {
    this.#opening += 1;
    this.#isOpen = false;
    this.#context.watchers.remove(this);
    this.#cancelRetry?.();
  }
}
