/**
 * One round over the servers, until one of them serves. Byte streams are opened side by side, so that a server that is gone costs little; what is
 * then said is said to one server at a time.
 */

import type { Duplex } from 'node:stream';

import type { Clock } from '@incumbent/core';
import { type Connect, describeError, type Endpoint, endpointName } from '@incumbent/network';

import { mildestOf } from '../errors.ts';
import { ExchangeError, notConnected } from './failure.ts';

export interface RoundOptions {
  readonly clock: Clock;
  readonly connect: Connect;
  /** How long one byte stream may take to open, in ms. */
  readonly connectTimeoutMs: number;
}

/** After so many ms without a byte stream the next server is tried too. */
const STAGGER_MS = 250;

/** A byte stream to a server, and nothing said on it yet. */
export interface Opened {
  readonly endpoint: Endpoint;
  readonly socket: Duplex;
}

/**
 * Has `serve` try the servers in this order, each once, until it resolves. What it rejects with counts against the server; `isFinal` says that every
 * other would answer the same. Rejects then; or with an `ExchangeError` for the server that gives most hope, its message naming all; or with the
 * signal's reason if it aborts.
 */
export async function tryInTurn<T>(
  order: readonly Endpoint[],
  options: RoundOptions,
  signal: AbortSignal,
  serve: (opened: Opened) => Promise<T>,
): Promise<T> {
  const round = new Round(order, options, signal);
  for (;;) {
    const opened = await round.next();
    if (opened === undefined) throw round.failure();
    try {
      return await serve(opened);
    } catch (error) {
      signal.throwIfAborted();
      if (isFinal(error)) throw error;
      round.failed(opened.endpoint, error);
    }
  }
}

/** Whether every server would answer the same. */
export function isFinal(error: unknown): boolean {
  if (!(error instanceof ExchangeError)) return false;
  const { failure } = error;
  return failure.kind === 'expired' || (failure.kind === 'notConnected' && failure.why === 'authFailed');
}

/** The servers of one round that have not failed yet. */
class Round {
  readonly #options: RoundOptions;
  readonly #signal: AbortSignal;
  readonly #left: Set<Endpoint>;
  readonly #failures: (readonly [Endpoint, unknown])[] = [];

  constructor(order: readonly Endpoint[], options: RoundOptions, signal: AbortSignal) {
    this.#left = new Set(order);
    this.#options = options;
    this.#signal = signal;
  }

  failed(endpoint: Endpoint, error: unknown): void {
    this.#left.delete(endpoint);
    this.#failures.push([endpoint, error]);
  }

  /** The first byte stream that opens, to one of those left; the others are given up. Undefined when none does. */
  async next(): Promise<Opened | undefined> {
    this.#signal.throwIfAborted();
    if (this.#left.size === 0) return undefined;
    const stop = new AbortController();
    const abort = (): void => stop.abort(this.#signal.reason);
    this.#signal.addEventListener('abort', abort, { once: true });
    try {
      return await this.#race(stop.signal);
    } finally {
      this.#signal.removeEventListener('abort', abort);
      stop.abort();
    }
  }

  /** One error for all: the one that gives most hope, so that a single bad server does not end a retry. */
  failure(): ExchangeError {
    const message = this.#failures.map(([endpoint, error]) => `${endpointName(endpoint)}: ${describeError(error)}`).join('; ');
    const mildest = mildestOf(this.#failures.map(([, error]) => error));
    if (!(mildest instanceof ExchangeError)) return notConnected('unreachable', message, mildest);
    return new ExchangeError(mildest.failure, message, mildest.cause ?? mildest);
  }

  #race(signal: AbortSignal): Promise<Opened | undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<Opened | undefined>();
    const waiting = [...this.#left];
    let cancelStagger = (): void => {};
    let won = false;
    const begin = (): void => {
      cancelStagger();
      const endpoint = waiting.shift();
      if (endpoint === undefined || signal.aborted) return;
      cancelStagger = this.#options.clock.schedule(STAGGER_MS, begin);
      openSocket(endpoint, this.#options, signal).then(
        (socket) => {
          if (won || signal.aborted) socket.destroy();
          else resolve({ endpoint, socket });
          won = true;
        },
        (error: unknown) => {
          if (signal.aborted) return;
          this.failed(endpoint, error);
          if (this.#left.size === 0) resolve(undefined);
          else begin();
        },
      );
    };
    const abort = (): void => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    begin();
    return promise.finally(() => {
      cancelStagger();
      signal.removeEventListener('abort', abort);
    });
  }
}

// A caller's own `connect` may take its time, or for ever: what it brings too late is closed.
async function openSocket(endpoint: Endpoint, { connect, connectTimeoutMs, clock }: RoundOptions, signal: AbortSignal): Promise<Duplex> {
  const stop = new AbortController();
  const given = Promise.withResolvers<never>();
  const giveUp = (reason: unknown): void => {
    stop.abort(reason);
    given.reject(reason);
  };
  const abort = (): void => giveUp(signal.reason);
  const cancel = clock.schedule(connectTimeoutMs, () => giveUp(notConnected('unreachable', `not connected within ${connectTimeoutMs} ms`)));
  signal.addEventListener('abort', abort, { once: true });
  const opening = Promise.resolve().then(() => connect(endpoint, stop.signal));
  void opening.then(
    (socket) => void (stop.signal.aborted && socket.destroy()),
    () => {},
  );
  try {
    return await Promise.race([opening, given.promise]);
  } catch (error) {
    throw error instanceof ExchangeError || signal.aborted ? error : notConnected('unreachable', describeError(error), error);
  } finally {
    cancel();
    signal.removeEventListener('abort', abort);
  }
}
