/** Reads which leases the store has, past all proxies. */

import { setTimeout as sleep } from 'node:timers/promises';
import { openStore, type Store } from 'incumbent';
import type { Recorder } from './recorder.ts';

const EVERY_MS = 100;
const CALL_MS = 1_000;
const OPEN_AGAIN_MS = 200;

/**
 * The results of linearizable reads of leases. The reads may overlap, and their answers may arrive
 * in any order.
 */
export class LeaseLog {
  /** When the first answer that showed each lease arrived, in ms. */
  readonly #seen = new Map<string, number>();
  readonly #gone = new Set<string>();

  /**
   * Takes the leases that a read has shown, and when the read was sent and answered. Returns the
   * leases that are now known to be gone.
   */
  take(leases: ReadonlySet<string>, sentAt: number, at: number): readonly string[] {
    // A read that was sent before a lease was first seen may be older than the lease.
    const gone = [...this.#seen].flatMap(([lease, seenAt]) => (!leases.has(lease) && seenAt < sentAt ? [lease] : []));
    for (const lease of gone) {
      this.#seen.delete(lease);
      this.#gone.add(lease);
    }
    for (const lease of leases) if (!this.#seen.has(lease) && !this.#gone.has(lease)) this.#seen.set(lease, at);
    return gone;
  }
}

/**
 * Keeps one open store per server, so that a hung server delays no other. Each repeatedly reads the
 * members' keys, which are bound to the members' leases.
 */
export class LeaseMonitor implements AsyncDisposable {
  readonly #recorder: Recorder;
  readonly #over = new AbortController();
  readonly #leases = new LeaseLog();
  readonly #loops: readonly Promise<void>[];

  /** `urls`: the URL of each server by its name. */
  constructor(recorder: Recorder, urls: ReadonlyMap<string, string>) {
    this.#recorder = recorder;
    this.#loops = [...urls].map(([by, url]) => this.#look(by, url));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort();
    await Promise.all(this.#loops);
  }

  async #look(by: string, url: string): Promise<void> {
    await using store = await this.#open(url);
    while (store !== undefined && !this.#over.signal.aborted) {
      const sentAt = this.#recorder.now();
      const entries = await store.list('members', { timeoutMs: CALL_MS, signal: this.#over.signal }).catch(() => undefined);
      const at = this.#recorder.now();
      const leases = entries?.flatMap(({ lease }) => lease ?? []);
      for (const lease of leases === undefined ? [] : this.#leases.take(new Set(leases), sentAt, at))
        this.#recorder.add({ type: 'leaseGone', at, lease, by });
      await this.#pause(EVERY_MS);
    }
  }

  async #open(url: string): Promise<Store | undefined> {
    while (!this.#over.signal.aborted) {
      try {
        return await openStore(url);
      } catch {
        await this.#pause(OPEN_AGAIN_MS);
      }
    }
    return undefined;
  }

  async #pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#over.signal }).catch(() => {});
  }
}
