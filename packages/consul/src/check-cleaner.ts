/**
 * Removes the checks of ended leases from the agent. It removes one check at a time, because there
 * may be many of them when an agent is reachable again.
 */

import type { Clock } from '@incumbent/core';
import { sleep } from '@incumbent/core/adapter';

import type { Client } from './client/client.ts';
import { deregisterCheck } from './protocol/check.ts';

/**
 * The timeout of one removal, and the time that {@link CheckCleaner.close} waits for all removals.
 */
const REMOVAL_MS = 500;

/**
 * Further checks are left to the agent: they turn critical, and are removed when a store is opened
 * on the agent.
 */
const MAX_CHECKS = 1_000;

export class CheckCleaner {
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #checks = new Set<string>();
  #removal: Promise<void> | undefined;

  constructor(client: Client, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  /** Removes the check in the background, and tries the checks again whose removal has failed. */
  schedule(check: string): void {
    this.#checks.add(check);
    for (const oldest of this.#checks) {
      if (this.#checks.size <= MAX_CHECKS) break;
      this.#checks.delete(oldest);
    }
    void this.#remove();
  }

  /** Waits at most half a second for the removal of all checks. */
  async close(): Promise<void> {
    const finished = new AbortController();
    await Promise.race([this.#finish(), sleep(this.#clock, REMOVAL_MS, finished.signal)]);
    finished.abort();
  }

  /** Tries once more after the removal under way, which may be about to fail. */
  async #finish(): Promise<void> {
    await this.#removal;
    await this.#remove();
  }

  async #remove(): Promise<void> {
    if (this.#checks.size > 0) this.#removal ??= this.#removeAll();
    await this.#removal;
  }

  /**
   * Stops at the first check that cannot be removed, because the next removal would wait as long.
   */
  async #removeAll(): Promise<void> {
    // The iteration includes checks that are added while it runs.
    for (const check of this.#checks) {
      this.#checks.delete(check);
      try {
        await deregisterCheck(this.#client, check, { timeoutMs: REMOVAL_MS, background: true });
      } catch {
        // Added behind the others, so that they are tried first next time.
        this.#checks.add(check);
        break;
      }
    }
    this.#removal = undefined;
  }
}
