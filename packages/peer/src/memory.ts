/**
 * Members in one process, for tests: a network whose links can be cut, and a storage that lasts as
 * long as its object.
 */

import { type Clock, systemClock } from '@incumbent/core';
import { checkNumber } from '@incumbent/core/adapter';
import type { DurableStorage } from './storage.ts';
import type { Frame, Link, Receive, LinkOptions, Transport } from './transport.ts';

export interface MemoryNetworkOptions {
  /** How long a message takes, in ms. Default 1. */
  readonly latencyMs?: number;
  readonly clock?: Clock;
  /**
   * Of an open membership: the ids that everybody begins with, or what finds them; asked once for
   * each member that opens. Default: none.
   */
  readonly seeds?: readonly string[] | (() => readonly string[] | Promise<readonly string[]>);
}

/** A network without a wire. One object for all members. */
export class MemoryNetwork implements Transport {
  readonly #clock: Clock;
  readonly #latencyMs: number;
  readonly #seeds: NonNullable<MemoryNetworkOptions['seeds']>;
  readonly #members = new Map<string, { readonly receive: Receive }>();
  readonly #cuts = new Set<string>();

  constructor(options: MemoryNetworkOptions = {}) {
    this.#clock = options.clock ?? systemClock;
    this.#latencyMs = checkNumber('latencyMs', options.latencyMs, 1, { min: 0, max: 60_000 });
    this.#seeds = options.seeds ?? [];
  }

  async open(options: LinkOptions): Promise<Link> {
    const { memberId, receive } = options;
    const seeds = options.members === 'open' ? await (typeof this.#seeds === 'function' ? this.#seeds() : this.#seeds) : [];
    // The latest of one id gets what is sent to it, as with an address.
    const end = { receive };
    this.#members.set(memberId, end);
    if (options.members === 'open')
      this.#clock.schedule(0, () =>
        options.found(
          '',
          seeds.map((id) => ({ memberId: id, address: '' })),
        ),
      );
    return {
      send: (to, frame) => this.#send(memberId, to, frame),
      close: async () => {
        if (this.#members.get(memberId) === end) this.#members.delete(memberId);
      },
    };
  }

  /** Drops what one of them sends to the other from now on; the other way is a cut of its own. */
  cut(from: string, to: string): void {
    this.#cuts.add(`${from} ${to}`);
  }

  /** Drops whatever this member sends, and whatever is sent to it. */
  isolate(memberId: string): void {
    this.cut(memberId, '*');
    this.cut('*', memberId);
  }

  /** Ends every cut. */
  heal(): void {
    this.#cuts.clear();
  }

  #send(from: string, to: string, frame: Frame): void {
    if ([`${from} ${to}`, `${from} *`, `* ${to}`].some((cut) => this.#cuts.has(cut))) return;
    this.#clock.schedule(this.#latencyMs, () => this.#members.get(to)?.receive(from, frame));
  }
}

/**
 * Remembers as long as it lives: a test that restarts a member gives the new one the same object.
 */
export class MemoryStorage implements DurableStorage {
  #durable: unknown;

  async load(): Promise<unknown> {
    return this.#durable;
  }

  async save(durable: unknown): Promise<void> {
    this.#durable = durable;
  }

  async close(): Promise<void> {}
}
