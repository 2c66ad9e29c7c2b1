/** The client's side of one watch. Shows what has arrived, and opens again after every outage. */

import type { Cancel, StoreError } from '@incumbent/core';
import type { WatchController } from '@incumbent/core/adapter';
import type { Connection, ConnectionListener } from './client/connection.ts';
import { watchMessageLost } from './errors.ts';
import type { Watcher, WatchHub, WatchTarget } from './watch-hub.ts';

/** The pause before a watch opens again after one of its messages was lost. */
const RETRY_MS = 100;

/** How the client and the server reach each other. */
export interface WatchRoute {
  readonly connection: Connection;
  readonly hub: WatchHub;
}

export class Watch<S> implements ConnectionListener, Watcher {
  readonly target: WatchTarget;
  readonly #route: WatchRoute;
  readonly #read: () => S;
  readonly #controller: WatchController<S>;
  #cancelRetry: Cancel | undefined;
  /** Messages of an earlier opening are ignored. */
  #opening = 0;
  #isOpen = false;
  /** How many states the server has sent, and the number of the newest one that has arrived. */
  #sent = 0;
  #arrived = 0;

  /** `read` returns the state of the target at the server. */
  constructor(route: WatchRoute, target: WatchTarget, read: () => S, controller: WatchController<S>) {
    this.#route = route;
    this.target = target;
    this.#read = read;
    this.#controller = controller;
  }

  /** Starts the watch, and returns what stops it. */
  start(): Cancel {
    const { connection } = this.#route;
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
    this.#route.connection.unsubscribe(this);
  }

  #open(): void {
    this.#drop();
    this.#isOpen = true;
    const opening = this.#opening;
    this.#route.connection.send(
      { kind: 'watch' },
      () => this.#serve(opening),
      () => this.#retry(opening),
    );
  }

  /** Runs at the server: sends the state now, and after every change. */
  #serve(opening: number): void {
    if (opening !== this.#opening) return;
    this.#route.hub.add(this);
    this.changed();
  }

  /** Runs at the server. */
  changed(): void {
    if (!this.#isOpen) return;
    const [opening, number, state] = [this.#opening, ++this.#sent, this.#read()];
    const receive = (): void => {
      // With varying latencies, an event can overtake another. Only the newest one is shown.
      if (opening !== this.#opening || number < this.#arrived) return;
      this.#arrived = number;
      this.#controller.show(state);
    };
    this.#route.connection.send({ kind: 'event' }, receive, () => this.#retry(opening));
  }

  /** A stream that loses a message loses its connection. */
  #retry(opening: number): void {
    if (opening !== this.#opening) return;
    this.#lose(watchMessageLost());
    const { connection } = this.#route;
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
    this.#route.hub.remove(this);
    this.#cancelRetry?.();
  }
}
