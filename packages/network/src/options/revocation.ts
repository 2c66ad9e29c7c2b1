/** Lets another process revoke the leases of a store, or another thread renew them. */

import { inspect } from 'node:util';

import type { LeaseId, Revocation } from '@incumbent/core';
import { moduleBeside } from '@incumbent/core/adapter';

type TicketOf = (lease: LeaseId) => string | undefined;

/** Printing the object, or converting it to JSON, shows only the module, and not `access`. */
class HiddenRevocation implements Revocation {
  readonly module: string;
  readonly renews: boolean;
  readonly #access: string;
  readonly #ticketOf: TicketOf;

  constructor(module: string, access: string, renews: boolean, ticketOf: TicketOf) {
    this.module = module;
    this.renews = renews;
    this.#access = access;
    this.#ticketOf = ticketOf;
  }

  get access(): string {
    return this.#access;
  }

  /** Hides `access` also from an `inspect` that shows getters. */
  [inspect.custom](): object {
    return { module: this.module };
  }

  ticketOf(lease: LeaseId): string | undefined {
    return this.#ticketOf(lease);
  }
}

/** What differs between the revocations of the stores. */
export interface RevocationOptions {
  /** As in {@link Revocation.ticketOf}. Default: the ticket of a lease is its id. */
  readonly ticketOf?: TicketOf;
  /** Whether the module can also renew leases. Default false. */
  readonly renews?: boolean;
}

/**
 * The revocation by the module `revoker` in the folder of the module at `url`. Undefined if no
 * other process can open the store, or in a CommonJS bundle, where a module has no `url`.
 */
export function revocationOf(
  url: string | undefined,
  access: string | undefined,
  { ticketOf = (lease) => lease, renews = false }: RevocationOptions = {},
): Revocation | undefined {
  if (url === undefined || access === undefined) return undefined;
  return new HiddenRevocation(moduleBeside(url, 'revoker'), access, renews, ticketOf);
}
