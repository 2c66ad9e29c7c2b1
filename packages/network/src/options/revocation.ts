/** How another process ends the leases of a store. What lets it in is not shown. */

import { inspect } from 'node:util';

import type { LeaseId, Revocation } from '@incumbent/core';
import { moduleBeside } from '@incumbent/core/adapter';

type TicketOf = (lease: LeaseId) => string | undefined;

/** Printing it or its store, or making JSON of them, shows the module alone: `access` is read by name. */
class HiddenRevocation implements Revocation {
  readonly module: string;
  readonly #access: string;
  readonly #ticketOf: TicketOf;

  constructor(module: string, access: string, ticketOf: TicketOf) {
    this.module = module;
    this.#access = access;
    this.#ticketOf = ticketOf;
  }

  get access(): string {
    return this.#access;
  }

  /** Also where getters are shown. */
  [inspect.custom](): object {
    return { module: this.module };
  }

  ticketOf(lease: LeaseId): string | undefined {
    return this.#ticketOf(lease);
  }
}

/** By the module `revoker` that lies beside the one at `url`. Undefined where no other process can open the store. */
export function revocationOf(url: string, access: string | undefined, ticketOf: TicketOf): Revocation | undefined {
  return access === undefined ? undefined : new HiddenRevocation(moduleBeside(url, 'revoker'), access, ticketOf);
}
