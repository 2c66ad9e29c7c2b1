/**
 * The messages that a newly started reaper process needs to know everything that the previous one
 * knew. Kept in the parent, without the messages that later ones made obsolete.
 */

import type { ParentMessage } from '../messages.ts';

export class ReplayLog {
  readonly #stores = new Map<number, ParentMessage>();
  readonly #leases = new Map<number, ParentMessage>();
  readonly #renewals = new Map<number, ParentMessage>();
  readonly #endings = new Map<number, ParentMessage>();
  readonly #groups = new Map<number, ParentMessage>();
  /**
   * Leases that are gone, kept while any group is bound: the group may depend on such a lease, and
   * then a new reaper process must kill it too.
   */
  readonly #forgotten = new Map<number, ParentMessage>();

  /** Whether a reaper process would have nothing to do at the parent's death. */
  get isEmpty(): boolean {
    return this.#leases.size === this.#forgotten.size && this.#groups.size === 0;
  }

  add(message: ParentMessage): void {
    switch (message.type) {
      case 'store':
        this.#stores.set(message.store, message);
        return;
      case 'dropStore':
        this.#stores.delete(message.store);
        return;
      case 'lease':
        this.#leases.set(message.lease, message);
        return;
      case 'renewed':
        this.#renewals.set(message.lease, message);
        return;
      case 'ended':
        if (this.#leases.has(message.lease)) this.#endings.set(message.lease, message);
        return;
      case 'forget':
        this.#forgotten.set(message.lease, message);
        this.#compact();
        return;
      case 'group':
        this.#groups.set(message.pid, message);
        return;
      case 'release':
        this.#groups.delete(message.pid);
        this.#compact();
        return;
      case 'parent':
      case 'end':
        return;
      default:
        message satisfies never;
    }
  }

  /** All messages, in an order in which a new reaper process can apply them. */
  messages(): readonly ParentMessage[] {
    return [this.#stores, this.#leases, this.#renewals, this.#endings, this.#groups, this.#forgotten].flatMap((kind) => [...kind.values()]);
  }

  /** Removes the leases that are gone, once no group can depend on them. */
  #compact(): void {
    if (this.#groups.size > 0) return;
    for (const lease of this.#forgotten.keys())
      for (const kind of [this.#leases, this.#renewals, this.#endings, this.#forgotten]) kind.delete(lease);
  }
}
