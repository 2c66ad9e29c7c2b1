/**
 * The members of the cluster, and the session that calls go to. Connecting sends no request, so it may try one member after the other, and
 * two at once; a request goes to one member, once.
 */

import { type Endpoint, endpointName } from '@incumbent/network';

import { notConnected } from '../errors.ts';
import { ExchangeError } from './exchange-error.ts';
import { openSession, type Session, type SessionOptions } from './http2-connection.ts';

/** After so many ms without a connection the next member is tried too. */
const STAGGER_MS = 250;

/**
 * After so many ms without a connection to the only address, a second one is tried beside the first.
 * A load balancer may have led the first to a server that hangs.
 */
const SECOND_TRY_MS = 1_000;

/** A connection younger than this is not given up, so that a server that fails every call is not connected to over and over. */
const MIN_AGE_MS = 1_000;

/** How long a byte stream that the caller brought may take to end. One of Node's takes a few ms. */
const CLOSE_MS = 1_000;

export class Endpoints {
  readonly #endpoints: readonly Endpoint[];
  readonly #options: SessionOptions;
  readonly #sessions = new Set<Session>();
  #current: Session | undefined;
  #connecting: Promise<Session> | undefined;
  #dial = new AbortController();
  #closed = false;
  /** Where to begin: the index of the member that is tried first. */
  #first: number;

  constructor(endpoints: readonly Endpoint[], options: SessionOptions, first: number) {
    this.#endpoints = endpoints;
    this.#options = options;
    this.#first = first;
  }

  /** The session for the next request. Rejects with an `ExchangeError` when no member can be reached. */
  session(): Session | Promise<Session> {
    if (this.#closed) return Promise.reject(closed());
    if (this.#current?.usable === true) return this.#current;
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  /**
   * Sends the next requests to another member, if there is one: this one did not serve. What it still
   * has in flight may finish. `forGood`: whoever comes back to this member does so by a connection
   * of its own. Behind one address there may be several servers, and a dead connection to one that lives.
   */
  leave(session: Session, { forGood }: { readonly forGood: boolean }): void {
    if (forGood && performance.now() - session.openedAtMs >= MIN_AGE_MS) session.retire();
    if (this.#current !== session) return;
    this.#current = undefined;
    this.#first = (this.#endpoints.indexOf(session.endpoint) + 1) % this.#endpoints.length;
  }

  /** Ends every connection at once. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#dial.abort();
    const sessions = [...this.#sessions];
    for (const session of sessions) session.destroy();
    await within(CLOSE_MS, Promise.all(sessions.map((session) => session.ended())));
  }

  async #connect(): Promise<Session> {
    this.#dial = new AbortController();
    const inOrder = [...this.#endpoints.slice(this.#first), ...this.#endpoints.slice(0, this.#first)];
    const session = await firstToOpen(inOrder, (endpoint, signal) => this.#open(endpoint, signal), this.#dial);
    this.#current = session;
    this.#first = this.#endpoints.indexOf(session.endpoint);
    return session;
  }

  async #open(endpoint: Endpoint, signal: AbortSignal): Promise<Session> {
    for (const known of this.#sessions) if (known.endpoint === endpoint && known.usable) return known;
    const session = await openSession(endpoint, this.#options, signal);
    // In the moment in which it opened.
    if (this.#closed) {
      session.destroy();
      throw closed();
    }
    this.#sessions.add(session);
    void session.ended().then(() => this.#sessions.delete(session));
    return session;
  }
}

function closed(): ExchangeError {
  return new ExchangeError({ kind: 'closed', sent: false }, 'the store was closed');
}

/**
 * Begins with the first; goes on to the next when one fails, or after a while. A single one is tried a second time, after a longer while. The
 * first that opens wins; then `dial` stops the others.
 */
function firstToOpen(
  endpoints: readonly Endpoint[],
  open: (endpoint: Endpoint, signal: AbortSignal) => Promise<Session>,
  dial: AbortController,
): Promise<Session> {
  const { promise, resolve, reject } = Promise.withResolvers<Session>();
  const waiting = [...endpoints];
  const failures: (readonly [string, unknown])[] = [];
  let underWay = 0;
  let next: NodeJS.Timeout | undefined;
  const begin = (endpoint: Endpoint): void => {
    underWay += 1;
    open(endpoint, dial.signal).then(resolve, (error: unknown) => {
      underWay -= 1;
      failures.push([endpointName(endpoint), error]);
      if (waiting.length > 0) beginNext();
      else if (underWay === 0) reject(notConnected(failures));
    });
  };
  const beginNext = (): void => {
    clearTimeout(next);
    const endpoint = waiting.shift();
    if (endpoint === undefined || dial.signal.aborted) return;
    const isOnly = endpoints.length === 1;
    next = setTimeout(() => (isOnly ? begin(endpoint) : beginNext()), isOnly ? SECOND_TRY_MS : STAGGER_MS).unref();
    begin(endpoint);
  };
  beginNext();
  return promise.finally(() => {
    clearTimeout(next);
    dial.abort();
  });
}

/** Resolves when `promise` does, or when the time is over. */
async function within(ms: number, promise: Promise<unknown>): Promise<void> {
  const over = Promise.withResolvers<void>();
  const timer = setTimeout(over.resolve, ms).unref();
  await Promise.race([promise, over.promise]);
  clearTimeout(timer);
}
