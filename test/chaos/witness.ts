/**
 * Watches which leases the store keeps, past all proxies: one open store per server, so that a server
 * that hangs delays no other. Each reads the members' keys again and again, linearizably; a lease whose
 * key is missing from a read that was sent after the key had been seen is gone.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { openStore, type Store } from 'incumbent';
import type { Recorder } from './recorder.ts';

const EVERY_MS = 100;
const CALL_MS = 1_000;
const OPEN_AGAIN_MS = 200;

export class Witness implements AsyncDisposable {
  readonly #recorder: Recorder;
  readonly #over = new AbortController();
  /** When each lease was first seen, in ms. */
  readonly #seen = new Map<string, number>();
  readonly #gone = new Set<string>();
  readonly #loops: readonly Promise<void>[];

  /** `urls`: of each server, by its name. */
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
      if (entries !== undefined) this.#take(by, sentAt, new Set(entries.flatMap(({ lease }) => lease ?? [])));
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

  #take(by: string, sentAt: number, leases: ReadonlySet<string>): void {
    const at = this.#recorder.now();
    for (const [lease, seenAt] of this.#seen) {
      if (leases.has(lease) || seenAt >= sentAt) continue;
      this.#seen.delete(lease);
      this.#gone.add(lease);
      this.#recorder.add({ type: 'leaseGone', at, lease, by });
    }
    for (const lease of leases) if (!this.#seen.has(lease) && !this.#gone.has(lease)) this.#seen.set(lease, at);
  }

  async #pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#over.signal }).catch(() => {});
  }
}
