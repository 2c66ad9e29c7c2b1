/** Requests for the objects of one resource. They wait for no other requests of the store. */

import { withGrant } from '@incumbent/network';

import type { Request, Response } from '../client/client.ts';
import { deniedRight, toStoreError } from '../errors.ts';
import { collectionPath, type Resource } from '../names.ts';
import { fields, text, type Fields } from '../objects/json.ts';
import type { Cluster } from '../store.ts';

/** How long one request may take, in ms. */
const REQUEST_MS = 5_000;

const ABSENT = 404;
const CONFLICT = 409;

/** Every call rejects with a `StoreError`, or with the reason of the signal. */
export class Objects {
  readonly #cluster: Pick<Cluster, 'client' | 'namespace'>;
  readonly #resource: Resource;
  /** Begins the messages of errors. */
  readonly #what: string;

  constructor(cluster: Pick<Cluster, 'client' | 'namespace'>, resource: Resource, what: string) {
    this.#cluster = cluster;
    this.#resource = resource;
    this.#what = what;
  }

  /** Undefined if there is no object of this name. Linearizable. */
  async get(name: string, signal: AbortSignal): Promise<Fields | undefined> {
    const { status, body } = await this.#send({ method: 'GET', path: this.#path(name), accept: [ABSENT] }, signal);
    return status === ABSENT ? undefined : body;
  }

  /** Linearizable, unless the query has a `resourceVersion`. */
  async list(query: Readonly<Record<string, string>>, signal: AbortSignal): Promise<readonly Fields[]> {
    const { body } = await this.#send({ method: 'GET', path: this.#path(), query }, signal);
    return Array.isArray(body['items']) ? body['items'].map(fields) : [];
  }

  /** Undefined if there is one of this name already. */
  async create(object: Fields, signal: AbortSignal): Promise<Fields | undefined> {
    const { apiVersion, kind } = this.#resource;
    const body = { apiVersion, kind, ...object };
    const { status, body: created } = await this.#send({ method: 'POST', path: this.#path(), body, accept: [CONFLICT] }, signal);
    return status === CONFLICT ? undefined : created;
  }

  /** Undefined if the object has another uid or version than in this metadata, or is gone. */
  replace(object: Fields, signal: AbortSignal): Promise<Fields | undefined> {
    return this.#change('PUT', text(fields(object['metadata']), 'name'), object, signal);
  }

  /**
   * A merge patch. Undefined if the object has another version than in this metadata, or is gone.
   */
  patch(name: string, patch: Fields, signal: AbortSignal): Promise<Fields | undefined> {
    return this.#change('PATCH', name, patch, signal);
  }

  async #change(method: 'PUT' | 'PATCH', name: string, body: Fields, signal: AbortSignal): Promise<Fields | undefined> {
    const request = { method, path: this.#path(name), body, accept: [CONFLICT, ABSENT] };
    const { status, body: changed } = await this.#send(request, signal);
    return status < 300 ? changed : undefined;
  }

  #path(name?: string): string {
    const collection = collectionPath(this.#cluster.namespace, this.#resource);
    return name === undefined ? collection : `${collection}/${name}`;
  }

  async #send(request: Request, signal: AbortSignal): Promise<Response> {
    const options = { timeoutMs: REQUEST_MS, signal, background: true };
    try {
      return await this.#cluster.client.request({ ...request, purpose: 'publishing' }, options);
    } catch (error) {
      if (signal.aborted) throw error;
      throw withGrant(toStoreError(error, this.#what), () => deniedRight(error));
    }
  }
}
