/** The client's end of a watch: shows what has arrived, and begins again after every outage. */

import { StoreError, type Cancel } from '@incumbent/core';
import type { WatchController } from '@incumbent/core/adapter';
import type { Rider, Wire } from './client/connection.ts';

/** The server's end. */
export interface Source<S> {
  /** The state now. */
  look(): S;
  /** Calls `changed` after every change, until cancelled. */
  subscribe(changed: () => void): Cancel;
}

/** Before a watch whose message was lost begins again. */
const RETRY_MS = 100;

export class Feed<S> implements Rider {
  readonly #wire: Wire;
  readonly #source: Source<S>;
  readonly #watch: WatchController<S>;
  #getOff: Cancel | undefined;
  #unsubscribe: Cancel | undefined;
  #cancelRetry: Cancel | undefined;
  /** What an earlier opening sends does not count. */
  #opening = 0;
  #isOpen = false;

  constructor(wire: Wire, source: Source<S>, watch: WatchController<S>) {
    this.#wire = wire;
    this.#source = source;
    this.#watch = watch;
  }

  /** Asks the server, until it is stopped. */
  start(): Cancel {
    const { outage } = this.#wire;
    this.#getOff = this.#wire.ride(this);
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
    this.#watch.fail(cause);
  }

  #stop(): void {
    this.#drop();
    this.#getOff?.();
  }

  #open(): void {
    this.#drop();
    this.#isOpen = true;
    const opening = this.#opening;
    this.#wire.send(
      { kind: 'watch' },
      () => this.#begin(opening),
      () => this.#retry(opening),
    );
  }

  /** At the server: tells the state now, and after every change. */
  #begin(opening: number): void {
    if (opening !== this.#opening) return;
    let sent = 0;
    let arrived = 0;
    const tell = (): void => {
      const [number, state] = [++sent, this.#source.look()];
      const receive = (): void => {
        // Latencies that vary may let an event overtake another: only the newest counts.
        if (number > arrived) this.#receive(opening, state);
        arrived = Math.max(arrived, number);
      };
      this.#wire.send({ kind: 'event' }, receive, () => this.#retry(opening));
    };
    this.#unsubscribe = this.#source.subscribe(tell);
    tell();
  }

  #receive(opening: number, state: S): void {
    if (opening === this.#opening) this.#watch.show(state);
  }

  /** A lost message takes the connection with it, as it would on a stream. */
  #retry(opening: number): void {
    if (opening !== this.#opening) return;
    this.#lose(new StoreError('CONNECTION_LOST', 'unknown', 'a message of the watch was lost'));
    this.#cancelRetry = this.#wire.clock.schedule(RETRY_MS, () => {
      if (this.#wire.outage === undefined) this.healed();
    });
  }

  #lose(cause: StoreError): void {
    this.#drop();
    this.#watch.lose(cause);
  }

  #drop(): void {
    this.#opening += 1;
    this.#isOpen = false;
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
    this.#cancelRetry?.();
  }
}
