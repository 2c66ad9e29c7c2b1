/** What carries messages between one client and the server, and breaks. */

import { StoreError, type Cancel, type Clock } from '@incumbent/core';
import type { Message } from '../options.ts';

/** Something that must know when the wire breaks: a call in flight, or a watch. */
export interface Rider {
  /** Messages are swallowed from now on, and nobody says so. */
  cut(cause: StoreError): void;
  /** The messages of watches have been held for too long. */
  silent(cause: StoreError): void;
  /** The connection is gone, and with it what was on its way. */
  reset(cause: StoreError): void;
  /** There is a connection again. */
  healed(): void;
  /** The client was closed. */
  closed(cause: StoreError): void;
}

type State = 'whole' | 'cut' | 'refusing' | 'stalled';

export class Wire {
  readonly clock: Clock;
  readonly #latencyOf: (message: Message) => number;
  readonly #riders = new Set<Rider>();
  #state: State = 'whole';
  #isClosed = false;
  /** Counts resets: what was sent before one does not arrive after it. */
  #connection = 0;
  #delayMs = 0;
  #isHoldingWatches = false;
  #cancelSilence: Cancel | undefined;
  #waiting: (() => void)[] = [];

  constructor(clock: Clock, latencyOf: (message: Message) => number) {
    this.clock = clock;
    this.#latencyOf = latencyOf;
  }

  /** Tells `rider` of what befalls the wire, until cancelled. */
  ride(rider: Rider): Cancel {
    this.#riders.add(rider);
    return () => {
      this.#riders.delete(rider);
    };
  }

  /** Why no call can leave; undefined when it can, be it into the void. */
  get refusal(): StoreError | undefined {
    if (this.#isClosed) return new StoreError('STORE_CLOSED', 'notSent', 'the store was closed');
    if (this.#state === 'refusing') return new StoreError('UNREACHABLE', 'notSent', 'the server refuses connections');
    return undefined;
  }

  /** Why no watch can be had now; undefined when one can. */
  get outage(): StoreError | undefined {
    return this.#state === 'cut' ? cutError() : this.refusal;
  }

  /** Runs `arrive` when the message gets through; `lost` when its latency says that it never will. Neither when a fault swallows it. */
  send(message: Message, arrive: () => void, lost: () => void = () => {}): void {
    if (this.#isClosed || this.#state === 'cut' || this.#state === 'refusing') return;
    const travelMs = this.#latencyOf(message) + this.#delayMs;
    if (travelMs === Infinity) return lost();
    const connection = this.#connection;
    const land = (): void => {
      if (connection !== this.#connection || this.#state === 'cut' || this.#state === 'refusing') return;
      if (this.#isHeld(message)) this.#waiting.push(land);
      else arrive();
    };
    if (travelMs > 0) this.clock.schedule(travelMs, land);
    else queueMicrotask(land);
  }

  #isHeld({ kind }: Message): boolean {
    return this.#state === 'stalled' || (this.#isHoldingWatches && (kind === 'watch' || kind === 'event'));
  }

  cut(): void {
    this.#state = 'cut';
    this.#waiting = [];
    this.#tell((rider) => rider.cut(cutError()));
  }

  refuse(): void {
    this.#state = 'refusing';
    this.#disconnect();
  }

  stall(): void {
    this.#state = 'stalled';
  }

  stallWatches(staleAfterMs: number): void {
    this.#isHoldingWatches = true;
    this.#cancelSilence?.();
    this.#cancelSilence = undefined;
    if (staleAfterMs === Infinity) return;
    const silent = new StoreError('CONNECTION_LOST', 'unknown', `the server has told the watches nothing for ${staleAfterMs} ms`);
    this.#cancelSilence = this.clock.schedule(staleAfterMs, () => this.#tell((rider) => rider.silent(silent)));
  }

  delay(ms: number): void {
    this.#delayMs = ms;
  }

  reset(): void {
    this.#disconnect();
    if (this.#state === 'whole' || this.#state === 'stalled') this.#tell((rider) => rider.healed());
  }

  heal(): void {
    this.#state = 'whole';
    this.#delayMs = 0;
    this.#isHoldingWatches = false;
    this.#cancelSilence?.();
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const land of waiting) land();
    this.#tell((rider) => rider.healed());
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#cancelSilence?.();
    this.#tell((rider) => rider.closed(new StoreError('STORE_CLOSED', 'unknown', 'the store was closed')));
  }

  #disconnect(): void {
    this.#connection += 1;
    this.#waiting = [];
    this.#tell((rider) => rider.reset(new StoreError('CONNECTION_LOST', 'unknown', 'the connection was reset')));
  }

  #tell(what: (rider: Rider) => void): void {
    // A copy: riders come and go while they are told.
    const riders = [...this.#riders];
    for (const rider of riders) what(rider);
  }
}

function cutError(): StoreError {
  return new StoreError('CONNECTION_LOST', 'unknown', 'the link is cut');
}
