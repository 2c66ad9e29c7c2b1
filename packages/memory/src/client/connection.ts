/**
 * Carries the messages between one client and the server, and simulates the faults of a network.
 */

import type { Cancel, Clock, StoreError } from '@incumbent/core';
import { connectionRefused, connectionReset, linkCut, storeClosed, watchesSilent } from '../errors.ts';
import type { Message } from '../options.ts';

/** A call in flight or a watch, which is notified of faults. */
export interface ConnectionListener {
  /**
   * Messages are lost from now on. A call is not notified by a real network, so calls ignore it.
   */
  cut(cause: StoreError): void;
  /** The messages of watches have been held for too long. */
  silent(cause: StoreError): void;
  /** The connection was reset, and the messages in flight are lost. */
  reset(cause: StoreError): void;
  /** There is a connection again. */
  healed(): void;
  /** The client was closed. */
  closed(cause: StoreError): void;
}

type State = 'healthy' | 'cut' | 'refusing' | 'stalled';

export class Connection {
  readonly clock: Clock;
  readonly #latencyOf: (message: Message) => number;
  readonly #listeners = new Set<ConnectionListener>();
  #state: State = 'healthy';
  #isClosed = false;
  /** How often messages were lost. One that was sent before a loss does not arrive after it. */
  #losses = 0;
  #delayMs = 0;
  #isHoldingWatches = false;
  #cancelSilence: Cancel | undefined;
  #held: (() => void)[] = [];

  constructor(clock: Clock, latencyOf: (message: Message) => number) {
    this.clock = clock;
    this.#latencyOf = latencyOf;
  }

  /** Notifies `listener` of faults until `unsubscribe`. */
  subscribe(listener: ConnectionListener): void {
    this.#listeners.add(listener);
  }

  unsubscribe(listener: ConnectionListener): void {
    this.#listeners.delete(listener);
  }

  /** Why no request can be sent. Undefined: one can be sent, even if it gets lost. */
  get refusal(): StoreError | undefined {
    if (this.#isClosed) return storeClosed('notSent');
    if (this.#state === 'refusing') return connectionRefused();
    return undefined;
  }

  /** Why no watch can be opened. Undefined: one can be opened. */
  get outage(): StoreError | undefined {
    return this.#state === 'cut' ? linkCut() : this.refusal;
  }

  /**
   * Runs `arrive` when the message arrives, or `lost` if its latency is infinite. Runs neither if a
   * fault loses the message.
   */
  send(message: Message, arrive: () => void, lost: () => void = () => {}): void {
    if (this.#isClosed || this.#isDown) return;
    const travelMs = this.#latencyOf(message) + this.#delayMs;
    if (travelMs === Infinity) return lost();
    const losses = this.#losses;
    const deliver = (): void => {
      if (losses !== this.#losses || this.#isDown) return;
      if (this.#holds(message)) this.#held.push(deliver);
      else arrive();
    };
    if (travelMs > 0) this.clock.schedule(travelMs, deliver);
    else queueMicrotask(deliver);
  }

  get #isDown(): boolean {
    return this.#state === 'cut' || this.#state === 'refusing';
  }

  #holds({ kind }: Message): boolean {
    return this.#state === 'stalled' || (this.#isHoldingWatches && (kind === 'watch' || kind === 'event'));
  }

  cut(): void {
    this.#state = 'cut';
    this.#loseMessages();
    this.#notify((listener) => listener.cut(linkCut()));
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
    const cause = watchesSilent(staleAfterMs);
    this.#cancelSilence = this.clock.schedule(staleAfterMs, () => this.#notify((listener) => listener.silent(cause)));
  }

  delay(ms: number): void {
    this.#delayMs = ms;
  }

  reset(): void {
    this.#disconnect();
    if (!this.#isDown) this.#notify((listener) => listener.healed());
  }

  heal(): void {
    this.#state = 'healthy';
    this.#delayMs = 0;
    this.#isHoldingWatches = false;
    this.#cancelSilence?.();
    const held = this.#held;
    this.#held = [];
    for (const deliver of held) deliver();
    this.#notify((listener) => listener.healed());
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#cancelSilence?.();
    this.#notify((listener) => listener.closed(storeClosed('unknown')));
  }

  #loseMessages(): void {
    this.#losses += 1;
    this.#held = [];
  }

  #disconnect(): void {
    this.#loseMessages();
    this.#notify((listener) => listener.reset(connectionReset()));
  }

  #notify(what: (listener: ConnectionListener) => void): void {
    // A copy, because listeners are added and removed meanwhile.
    const listeners = [...this.#listeners];
    for (const listener of listeners) what(listener);
  }
}
