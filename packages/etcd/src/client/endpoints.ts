/** The members of the cluster, and the connection that calls use. */

import { systemClock } from '@incumbent/core/adapter';
import { type Endpoint, endpointName, openFirst, startingAt } from '@incumbent/network';

import { notConnected } from '../errors.ts';
import { ExchangeError } from './failure.ts';
import { type ConnectionOptions, type Http2Connection, openConnection } from './http2-connection.ts';

/**
 * After so many ms without a connection to the only address, a second one is opened in parallel. A
 * load balancer may have led the first one to a server that hangs.
 */
const SECOND_TRY_MS = 1_000;

/**
 * A connection that is younger than this many ms is kept, so that a server that fails every call
 * is not connected to again and again.
 */
const MIN_AGE_MS = 1_000;

/** How many ms a byte stream that the caller opened may take to close. Node's own take a few ms. */
const CLOSE_MS = 1_000;

/**
 * Chooses the member that the next request goes to. Connecting sends no request, so it may try
 * several members, and two at once. A request goes to one member, once.
 */
export class Endpoints {
  readonly #endpoints: readonly Endpoint[];
  readonly #options: ConnectionOptions;
  readonly #connections = new Set<Http2Connection>();
  readonly #closing = new AbortController();
  #current: Http2Connection | undefined;
  #connecting: Promise<Http2Connection> | undefined;
  /** The index of the member that is tried first. */
  #first: number;

  constructor(endpoints: readonly Endpoint[], options: ConnectionOptions, first: number) {
    this.#endpoints = endpoints;
    this.#options = options;
    this.#first = first;
  }

  /** The number of members. */
  get count(): number {
    return this.#endpoints.length;
  }

  /**
   * The connection for the next request. Rejects with an `ExchangeError` if no member can be
   * reached.
   */
  connection(): Http2Connection | Promise<Http2Connection> {
    if (this.#closing.signal.aborted) return Promise.reject(closed());
    if (this.#current?.usable === true) return this.#current;
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  /**
   * Sends the next requests to another member, if there is one, because this one did not serve.
   * Requests in flight may finish. With `forGood`, later requests to the same address use a new
   * connection: several servers may share one address, and a dead connection may lead to a live
   * server.
   */
  leave(connection: Http2Connection, { forGood }: { readonly forGood: boolean }): void {
    if (forGood && performance.now() - connection.openedAtMs >= MIN_AGE_MS) connection.retire();
    if (this.#current !== connection) return;
    this.#current = undefined;
    this.#first = (this.#endpoints.indexOf(connection.endpoint) + 1) % this.#endpoints.length;
  }

  /** Closes every connection at once. */
  async close(): Promise<void> {
    this.#closing.abort(closed());
    const connections = [...this.#connections];
    for (const connection of connections) connection.destroy();
    await within(CLOSE_MS, Promise.all(connections.map((connection) => connection.ended())));
  }

  async #connect(): Promise<Http2Connection> {
    const inOrder = startingAt(this.#endpoints, this.#first);
    const failures: (readonly [member: string, error: unknown])[] = [];
    const open = async (endpoint: Endpoint, signal: AbortSignal): Promise<Http2Connection> => {
      try {
        return await this.#open(endpoint, signal);
      } catch (error) {
        failures.push([endpointName(endpoint), error]);
        throw error;
      }
    };
    try {
      const connection = await openFirst(inOrder, {
        clock: systemClock,
        signal: this.#closing.signal,
        open: inOrder.length === 1 ? (endpoint, signal) => openTwice(open, endpoint, signal) : open,
        // Another call may use it already. It ends with its last request.
        discard: (late) => late.retire(),
      });
      this.#current = connection;
      this.#first = this.#endpoints.indexOf(connection.endpoint);
      return connection;
    } catch {
      this.#closing.signal.throwIfAborted();
      throw notConnected(failures);
    }
  }

  async #open(endpoint: Endpoint, signal: AbortSignal): Promise<Http2Connection> {
    for (const known of this.#connections) if (known.endpoint === endpoint && known.usable) return known;
    const connection = await openConnection(endpoint, this.#options, signal);
    // The close may come in the moment in which the connection opens.
    if (this.#closing.signal.aborted) {
      connection.destroy();
      throw closed();
    }
    this.#connections.add(connection);
    void connection.ended().then(() => this.#connections.delete(connection));
    return connection;
  }
}

type Open = (endpoint: Endpoint, signal: AbortSignal) => Promise<Http2Connection>;

/**
 * Opens a second connection in parallel if the first has neither opened nor failed after a second.
 */
async function openTwice(open: Open, endpoint: Endpoint, signal: AbortSignal): Promise<Http2Connection> {
  const first = open(endpoint, signal);
  const second = Promise.withResolvers<Http2Connection>();
  const cancel = systemClock.schedule(SECOND_TRY_MS, () => second.resolve(open(endpoint, signal)));
  first.catch(second.reject);
  try {
    return await Promise.any([first, second.promise]);
  } finally {
    cancel();
  }
}

function closed(): ExchangeError {
  return new ExchangeError({ kind: 'closed', sent: false }, 'the store was closed');
}

/** Resolves when `promise` does, or after `ms`. */
async function within(ms: number, promise: Promise<unknown>): Promise<void> {
  const over = Promise.withResolvers<void>();
  const cancel = systemClock.schedule(ms, over.resolve);
  await Promise.race([promise, over.promise]);
  cancel();
}
