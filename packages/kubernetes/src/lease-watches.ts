/** Watches of the leases that a process depends on. They tell the observer of renewals at once. */

import type { Clock, LeaseId } from '@incumbent/core';
import { endQuietly, sleep, systemRandom } from '@incumbent/core/adapter';
import { type LeaseObserver, RetryGate } from '@incumbent/network';

import type { Client } from './client/client.ts';
import { isNotPermitted } from './errors.ts';
import { LABEL, leasesPath, readLeaseId, type Names } from './names.ts';
import { fields, type Fields } from './objects/json.ts';
import { readLease, viewOf } from './objects/lease.ts';

interface LeaseWatchContext {
  readonly client: Client;
  readonly clock: Clock;
  readonly names: Names;
  /** How long the server may keep one watch open, in ms. Whole seconds. */
  readonly watchMs: number;
}

/**
 * So many leases are watched by name. Further ones share a watch of all leases of the store, which
 * reports every renewal of every member.
 */
const MAX_NAMED = 4;

/** How much later than asked the server may end a watch, in ms. */
const LATE_MS = 1_000;

export class LeaseWatches {
  readonly #context: LeaseWatchContext;
  readonly #observer: LeaseObserver;
  readonly #gate: RetryGate;
  readonly #named = new Set<LeaseId>();
  readonly #others = new Set<LeaseId>();
  readonly #closed = new AbortController();

  constructor(context: LeaseWatchContext, observer: LeaseObserver) {
    this.#context = context;
    this.#observer = observer;
    this.#gate = new RetryGate(context.clock, systemRandom);
  }

  /** Watches the lease as long as it is observed. */
  add(lease: LeaseId): void {
    const name = readLeaseId(lease)?.name;
    if (name === undefined || this.#named.has(lease) || this.#others.has(lease)) return;
    if (this.#named.size < MAX_NAMED) {
      this.#named.add(lease);
      void this.#follow({ fieldSelector: `metadata.name=${name}` }, this.#named, lease);
      return;
    }
    this.#others.add(lease);
    if (this.#others.size === 1) void this.#follow({ labelSelector: `${LABEL}=${this.#context.names.prefix}` }, this.#others);
  }

  close(): void {
    endQuietly(this.#closed);
  }

  /** Watches until none of the leases is observed. `only`: until this one is not. */
  async #follow(selector: Readonly<Record<string, string>>, leases: Set<LeaseId>, only?: LeaseId): Promise<void> {
    const { signal } = this.#closed;
    for (;;) {
      for (const lease of only === undefined ? [...leases] : [only]) if (!this.#observer.isObserving(lease)) leases.delete(lease);
      if (signal.aborted || (only === undefined ? leases.size === 0 : !leases.has(only))) return;
      const isPermitted = await this.#watchOnce(selector, () => {
        for (const lease of only === undefined ? leases : [only]) this.#observer.recheck(lease);
      });
      // Also after a watch that ended too early. Somebody may grant the right later.
      const pauseMs = isPermitted ? this.#gate.leftMs : this.#context.watchMs;
      if (pauseMs > 0) await sleep(this.#context.clock, pauseMs, signal);
    }
  }

  /**
   * Resolves with whether the user may watch leases. Never rejects: without a watch, the observer
   * looks by itself, but less often.
   */
  async #watchOnce(selector: Readonly<Record<string, string>>, onOpen: () => void): Promise<boolean> {
    const { client, clock, names, watchMs } = this.#context;
    const beganMs = clock.monotonic();
    // Without a resourceVersion, the watch begins with the present leases, perhaps a little late.
    // It does not report the leases that ended before it began, so the observer looks at the
    // leases.
    const query = { ...selector, timeoutSeconds: String(watchMs / 1_000) };
    const options = { timeoutMs: watchMs + LATE_MS, signal: this.#closed.signal, background: true };
    try {
      await client.watch(leasesPath(names), query, options, (event) => this.#onEvent(event), onOpen);
      if (clock.monotonic() - beganMs < watchMs / 2) this.#gate.hold();
      else this.#gate.reset();
      return true;
    } catch (error) {
      this.#gate.hold();
      return !isNotPermitted(error);
    }
  }

  #onEvent(event: Fields): void {
    const { type } = event;
    if (type !== 'ADDED' && type !== 'MODIFIED' && type !== 'DELETED') return;
    const lease = readLease(fields(event['object']));
    if (this.#observer.isObserving(lease.id)) this.#observer.saw(lease.id, type === 'DELETED' ? undefined : viewOf(lease));
  }
}
