/** Every request that `node:http` sends from this process, as Node itself reports it. */

import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { ClientRequest } from 'node:http';

/**
 * Renewals, which are not part of the cost of elections: Consul's, and a PUT of a Lease of
 * Kubernetes.
 */
const RENEWAL = /^PUT \/(?:v1\/(?:session\/renew|agent\/check\/pass)\/|.*\/leases\/)/;

export class HttpRequests implements Disposable {
  /** Paths without renewals since the last `reset`. */
  readonly sent: string[] = [];
  /** Blocking queries that have no answer yet. */
  readonly #waiting = new Set<ClientRequest>();
  #most = 0;

  constructor() {
    subscribe('http.client.request.start', this.#onSent);
  }

  /** The largest number of blocking queries at the same time. */
  get mostWaiting(): number {
    return this.#most;
  }

  reset(): void {
    this.sent.length = 0;
  }

  [Symbol.dispose](): void {
    unsubscribe('http.client.request.start', this.#onSent);
  }

  readonly #onSent = (message: unknown): void => {
    const request = typeof message === 'object' && message !== null && 'request' in message ? message.request : undefined;
    if (!(request instanceof ClientRequest)) return;
    const { method, path } = request;
    if (!RENEWAL.test(`${method} ${path}`)) this.sent.push(path);
    if (!/[?&]index=/.test(path)) return;
    this.#waiting.add(request);
    this.#most = Math.max(this.#most, this.#waiting.size);
    request.once('close', () => this.#waiting.delete(request));
  };
}
