/**
 * Removes the services of ended leases from the agent. It removes one service at a time, because
 * there may be many of them when an agent is reachable again.
 */

import type { Clock } from '@incumbent/core';
import { sleep } from '@incumbent/core/adapter';

import type { Client } from './client/client.ts';
import { deregisterService } from './protocol/service.ts';

/**
 * The timeout of one removal, and the time that {@link ServiceCleaner.close} waits for all
 * removals.
 */
const REMOVAL_MS = 500;

/**
 * Further services are left to the agent: their checks turn critical, and the agent removes them a
 * minute later.
 */
const MAX_SERVICES = 1_000;

export class ServiceCleaner {
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #services = new Set<string>();
  #removal: Promise<void> | undefined;

  constructor(client: Client, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  /** Removes the service in the background, and tries those again whose removal has failed. */
  schedule(service: string): void {
    this.#services.add(service);
    for (const oldest of this.#services) {
      if (this.#services.size <= MAX_SERVICES) break;
      this.#services.delete(oldest);
    }
    void this.#remove();
  }

  /** Waits at most half a second for the removal of all services. */
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
    if (this.#services.size > 0) this.#removal ??= this.#removeAll();
    await this.#removal;
  }

  /**
   * Stops at the first service that cannot be removed, because the next removal would wait as long.
   */
  async #removeAll(): Promise<void> {
    // The iteration includes services that are added while it runs.
    for (const service of this.#services) {
      this.#services.delete(service);
      try {
        await deregisterService(this.#client, service, { timeoutMs: REMOVAL_MS, background: true });
      } catch {
        // Added behind the others, so that they are tried first next time.
        this.#services.add(service);
        break;
      }
    }
    this.#removal = undefined;
  }
}
