/** What a reaper has to know: kept here, so that another can be told all of it should it die. */

import type { Told } from './messages.ts';

export class Roster {
  readonly #stores = new Map<number, Told>();
  readonly #leases = new Map<number, Told>();
  readonly #renewals = new Map<number, Told>();
  readonly #endings = new Map<number, Told>();
  readonly #groups = new Map<number, Told>();
  /** Of leases that a group lived by, as far as is known: it must not go on, whichever reaper sees to it. */
  readonly #forgotten = new Map<number, Told>();

  /** Whether there is anything to be done at a death. */
  get isEmpty(): boolean {
    return this.#leases.size === this.#forgotten.size && this.#groups.size === 0;
  }

  note(message: Told): void {
    switch (message.type) {
      case 'store':
        this.#stores.set(message.store, message);
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
        this.#drop();
        return;
      case 'group':
        this.#groups.set(message.pid, message);
        return;
      case 'release':
        this.#groups.delete(message.pid);
        this.#drop();
        return;
      case 'parent':
      case 'end':
        return;
      default:
        message satisfies never;
    }
  }

  /** No member is on this store any more. */
  dropStore(store: number): void {
    this.#stores.delete(store);
  }

  /** All of it, in an order in which it can be told. */
  all(): readonly Told[] {
    return [this.#stores, this.#leases, this.#renewals, this.#endings, this.#groups, this.#forgotten].flatMap((kind) => [...kind.values()]);
  }

  /** Where no group is left, nobody asks what it lived by. */
  #drop(): void {
    if (this.#groups.size > 0) return;
    for (const lease of this.#forgotten.keys())
      for (const kind of [this.#leases, this.#renewals, this.#endings, this.#forgotten]) kind.delete(lease);
  }
}
