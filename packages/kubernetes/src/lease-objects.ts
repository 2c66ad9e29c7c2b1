/** Requests for the `Lease` objects of a store. */

import type { LeaseId } from '@incumbent/core';
import type { AttemptOptions } from '@incumbent/network';

import type { Client, Purpose } from './client/client.ts';
import { isNotPermitted } from './errors.ts';
import { LABEL, leasesPath, readLeaseId, type Names } from './names.ts';
import { fields, type Fields } from './objects/json.ts';
import { readLease, type LeaseObject } from './objects/lease.ts';

/** So many leases fit into an answer of the size that the client accepts. */
const MAX_LISTED = 1_000;

const CONFLICT = 409;
const ABSENT = 404;

/** What the object must have for a request to take effect. */
interface Preconditions {
  readonly uid?: string;
  readonly resourceVersion?: string;
}

export class LeaseObjects {
  readonly #client: Client;
  readonly #names: Names;

  constructor(client: Client, names: Names) {
    this.#client = client;
    this.#names = names;
  }

  /** `onSent` is called when the server may have the request. */
  async create(body: Fields, options: AttemptOptions, onSent: () => void): Promise<LeaseObject> {
    const request = { method: 'POST', path: leasesPath(this.#names), body } as const;
    const answer = await this.#client.request(request, options, onSent);
    return readLease(answer.body);
  }

  /** Undefined if the lease is certainly gone. */
  async read(lease: LeaseId, options: AttemptOptions, purpose: Purpose = 'calls'): Promise<LeaseObject | undefined> {
    const name = readLeaseId(lease);
    if (name === undefined) return undefined;
    const { status, body } = await this.#client.request(
      { method: 'GET', path: this.#pathOf(name.name), accept: [ABSENT], purpose },
      options,
    );
    const found = status === ABSENT ? undefined : readLease(body);
    return found?.id === lease ? found : undefined;
  }

  /**
   * Leases of the store, each with its state now. One that is missing may exist all the same: an
   * operator may have removed its label, or there may be too many. Undefined if the user may not
   * list leases.
   */
  async list(options: AttemptOptions): Promise<ReadonlyMap<LeaseId, LeaseObject> | undefined> {
    const query = { labelSelector: `${LABEL}=${this.#names.prefix}`, limit: String(MAX_LISTED) };
    try {
      const { body } = await this.#client.request({ method: 'GET', path: leasesPath(this.#names), query }, options);
      const items = Array.isArray(body['items']) ? body['items'].map(fields) : [];
      return new Map(items.map(readLease).map((lease) => [lease.id, lease]));
    } catch (error) {
      if (isNotPermitted(error)) return undefined;
      throw error;
    }
  }

  /** The lease after the change, or why the server has not changed it. */
  async update(name: string, body: Fields, options: AttemptOptions): Promise<LeaseObject | 'changed' | 'gone'> {
    const request = { method: 'PUT', path: this.#pathOf(name), body, accept: [CONFLICT, ABSENT], purpose: 'renewals' } as const;
    const { status, body: answer } = await this.#client.request(request, options);
    if (status === CONFLICT) return 'changed';
    return status === ABSENT ? 'gone' : readLease(answer);
  }

  /** Resolves also if the preconditions do not hold or the lease is gone, then with false. */
  async delete(name: string, preconditions: Preconditions, options: AttemptOptions): Promise<boolean> {
    const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions };
    const { status } = await this.#client.request(
      { method: 'DELETE', path: this.#pathOf(name), body, accept: [CONFLICT, ABSENT] },
      options,
    );
    return status < 300;
  }

  #pathOf(name: string): string {
    return `${leasesPath(this.#names)}/${name}`;
  }
}
