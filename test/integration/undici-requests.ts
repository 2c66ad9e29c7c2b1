/** What undici sends from this process, by its own word: every request, whoever makes it. */

import { subscribe, unsubscribe } from 'node:diagnostics_channel';

/** Renewals, which are no part of what elections cost. */
const RENEWAL = /^\/v1\/(?:session\/renew|agent\/check\/pass)\//;

export class UndiciRequests implements Disposable {
  /** Paths, renewals left out, since the last `reset`. */
  readonly sent: string[] = [];
  /** Blocking queries that have no answer yet. */
  readonly #waiting = new Set<unknown>();
  #most = 0;

  constructor() {
    subscribe('undici:client:sendHeaders', this.#onSent);
    for (const end of ['undici:request:trailers', 'undici:request:error']) subscribe(end, this.#onEnded);
  }

  /** The most blocking queries at a time. */
  get mostWaiting(): number {
    return this.#most;
  }

  reset(): void {
    this.sent.length = 0;
  }

  [Symbol.dispose](): void {
    unsubscribe('undici:client:sendHeaders', this.#onSent);
    for (const end of ['undici:request:trailers', 'undici:request:error']) unsubscribe(end, this.#onEnded);
  }

  readonly #onSent = (message: unknown): void => {
    const request = requestOf(message);
    const path = pathOf(request);
    if (!RENEWAL.test(path)) this.sent.push(path);
    if (!/[?&]index=/.test(path)) return;
    this.#waiting.add(request);
    this.#most = Math.max(this.#most, this.#waiting.size);
  };

  readonly #onEnded = (message: unknown): void => void this.#waiting.delete(requestOf(message));
}

function requestOf(message: unknown): unknown {
  return typeof message === 'object' && message !== null && 'request' in message ? message.request : undefined;
}

function pathOf(request: unknown): string {
  return typeof request === 'object' && request !== null && 'path' in request ? String(request.path) : '';
}
