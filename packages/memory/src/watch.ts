/** The client's side of one watch. Shows what has arrived, and opens again after every outage. */

import type { Cancel, StoreError } from '@incumbent/core';
import type { WatchController } from '@incumbent/core/adapter';
import type { Connection, ConnectionListener } from './client/connection.ts';
import { watchMessageLost } from './errors.ts';

/** What is watched, at the server. */
export interface WatchSource<S> {
  /** The state now. */
  read(): S;
  /** Calls `changed` after every change, until cancelled. */
  subscribe(changed: () => void): Cancel;
}

/** The pause before a watch opens again after one of its messages was lost. */
const RETRY_MS = 100;

export class Watch<S> implements ConnectionListener {
  readonly #connection: Connection;
  readonly #source: WatchSource<S>;
  readonly #controller: WatchController<S>;
  #cancelListener: Cancel | undefined;
  #unsubscribe: Cancel | undefined;
  #cancelRetry: Cancel | undefined;
  /** Messages of an earlier opening are ignored. */
  #opening = 0;
  #isOpen = false;

  constructor(connection: Connection, source: WatchSource<S>, controller: WatchController<S>) {
    this.#connection = connection;
    this.#source = source;
    this.#controller = controller;
  }

  /** Starts the watch, and returns what stops it. */
  start(): Cancel {
    const { outage } = this.#connection;
    this.#cancelListener = this.#connection.subscribe(this);
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
    this.#cancelListener?.();
  }

  #open(): void {
    this.#drop();
    this.#isOpen = true;
    const opening = this.#opening;
    this.#connection.send(
      { kind: 'watch' },
      () => this.#serve(opening),
      () => this.#retry(opening),
    );
  }

  /** Runs at the server: sends the state now, and after every change. */
  #serve(opening: number): void {
    if (opening !== this.#opening) return;
    let sent = 0;
    let arrived = 0;
    const sendState = (): void => {
      const [number, state] = [++sent, this.#source.read()];
      const receive = (): void => {
        // With varying latencies, an event can overtake another. Only the newest one is shown.
        if (number > arrived) this.#receive(opening, state);
        arrived = Math.max(arrived, number);
      };
      this.#connection.send({ kind: 'event' }, receive, () => this.#retry(opening));
    };
    this.#unsubscribe = this.#source.subscribe(sendState);
    sendState();
  }

  #receive(opening: number, state: S): void {
    if (opening === this.#opening) this.#controller.show(state);
  }

  /** A stream that loses a message loses its connection. */
  #retry(opening: number): void {
    if (opening !== this.#opening) return;
    this.#lose(watchMessageLost());
    this.#cancelRetry = this.#connection.clock.schedule(RETRY_MS, () => {
      if (this.#connection.outage === undefined) this.healed();
    });
  }

  #lose(cause: StoreError): void {
    this.#drop();
    this.#controller.lose(cause);
  }

  #drop(): void {
    this.#opening += 1;
    this.#isOpen = false;
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
    this.#cancelRetry?.();
  }
}
