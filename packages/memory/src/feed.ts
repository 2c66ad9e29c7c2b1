/** The client's end of a watch: keeps the latest state that has arrived, and begins again after every outage. */

import { StoreError, type Cancel, type WatchOptions } from '@incumbent/core';
import { onAbort } from '@incumbent/core/adapter';
import type { Rider, Wire } from './wire.ts';

/** The server's end. */
export interface Source<T> {
  /** The state now. */
  look(): T;
  /** Calls `changed` after every change, until cancelled. */
  subscribe(changed: () => void): Cancel;
}

/** Before a watch whose message was lost begins again. */
const RETRY_MS = 100;

export class Feed<T> implements Rider {
  readonly #wire: Wire;
  readonly #source: Source<T>;
  readonly #options: WatchOptions;
  readonly #cancels: Cancel[] = [];
  #unsubscribe: Cancel = () => {};
  #cancelRetry: Cancel = () => {};
  /** What an earlier opening sends does not count. */
  #opening = 0;
  #isOpen = false;
  #isStale = false;
  #pending: { readonly state: T } | undefined;
  #failure: StoreError | undefined;
  #wake: () => void = () => {};

  constructor(wire: Wire, source: Source<T>, options: WatchOptions) {
    this.#wire = wire;
    this.#source = source;
    this.#options = options;
  }

  /** Asks the server; comes before `next`. */
  start(): void {
    const { outage } = this.#wire;
    this.#cancels.push(
      this.#wire.ride(this),
      onAbort(this.#options.signal, () => this.close()),
    );
    if (this.#options.signal.aborted) this.close();
    else if (outage === undefined) this.#open();
    else if (outage.code === 'STORE_CLOSED') this.closed(outage);
    else this.#lose(outage);
  }

  /** The latest state, once there is one that was not given out before; undefined when the watch was aborted. */
  async next(): Promise<{ readonly state: T } | undefined> {
    for (;;) {
      if (this.#options.signal.aborted) return undefined;
      if (this.#failure !== undefined) throw this.#failure;
      const pending = this.#pending;
      this.#pending = undefined;
      if (pending !== undefined) return pending;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  close(): void {
    this.#drop();
    for (const cancel of this.#cancels) cancel();
    this.#wake();
  }

  cut(cause: StoreError): void {
    this.#lose(cause);
  }

  reset(cause: StoreError): void {
    this.#lose(cause);
  }

  healed(): void {
    if (!this.#isOpen) this.#open();
  }

  closed(cause: StoreError): void {
    this.#failure = cause;
    this.close();
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

  #receive(opening: number, state: T): void {
    if (opening !== this.#opening) return;
    this.#isStale = false;
    this.#pending = { state };
    this.#wake();
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
    // Not yielded any more: the next state that the watch yields is to mean that it is sound again.
    this.#pending = undefined;
    if (this.#isStale) return;
    this.#isStale = true;
    this.#options.onStale?.(cause);
  }

  #drop(): void {
    this.#opening += 1;
    this.#isOpen = false;
    this.#unsubscribe();
    this.#unsubscribe = () => {};
    this.#cancelRetry();
  }
}
