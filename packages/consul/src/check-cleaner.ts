/** Checks of leases that are over, which the agent may still have. One is removed at a time: there may be many when an agent comes back that was away. */

import type { Clock } from '@incumbent/core';

import { deregisterCheck } from './protocol/check.ts';
import type { Client } from './client/client.ts';
import { pause } from './pause.ts';

/** How long the agent may take to remove a check, and the store's close to remove all. */
const REMOVAL_MS = 500;

/** What is beyond turns critical, and is removed when a store is opened on the agent. */
const MAX_LEFTOVERS = 1_000;

export class Leftovers {
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #checks = new Set<string>();
  #removal: Promise<void> | undefined;

  constructor(client: Client, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  /** Nobody waits for its removal. Those that it failed for before are tried again. */
  add(check: string): void {
    this.#checks.add(check);
    for (const oldest of this.#checks) {
      if (this.#checks.size <= MAX_LEFTOVERS) break;
      this.#checks.delete(oldest);
    }
    void this.#remove();
  }

  /** Waits a moment for all to be removed. */
  async close(): Promise<void> {
    const over = new AbortController();
    await Promise.race([this.#finish(), pause(this.#clock, REMOVAL_MS, over.signal)]);
    over.abort();
  }

  /** One more time: what is under way may be about to fail. */
  async #finish(): Promise<void> {
    await this.#removal;
    await this.#remove();
  }

  async #remove(): Promise<void> {
    if (this.#checks.size > 0) this.#removal ??= this.#removeAll();
    await this.#removal;
  }

  /** Up to the first that cannot be removed: the next would wait as long. What comes before it has looked for the last time is removed, too. */
  async #removeAll(): Promise<void> {
    for (const check of this.#checks) {
      this.#checks.delete(check);
      try {
        await deregisterCheck(this.#client, check, { timeoutMs: REMOVAL_MS, background: true });
      } catch {
        // Behind the others, so that it does not stand in their way.
        this.#checks.add(check);
        break;
      }
    }
    this.#removal = undefined;
  }
}
