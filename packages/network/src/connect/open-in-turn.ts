/** Opens a connection to the one server that can be used, which only its answer shows. */

import type { Endpoint } from './endpoint.ts';

/** How {@link openInTurn} opens connections. */
export interface OpenInTurnOptions<T> {
  /** The index of the server to dial first: the one that served last. */
  readonly first: number;
  /** Gives up. */
  readonly signal: AbortSignal;
  /** Opens a connection, and rejects if the server cannot be used. */
  open(endpoint: Endpoint): Promise<T>;
  /**
   * Keeps the connection and the index of its server. Called before anything else can abort the
   * signal, so whoever aborts it later knows the connection, and can end it.
   */
  keep(opened: T, index: number): void;
  /** Frees a connection that opened after the signal had aborted. */
  discard(opened: T): void;
  /** Picks the error to report when every server has failed. */
  pickError(errors: readonly unknown[]): unknown;
}

/**
 * Dials one server after the other, each once, until one can be used. Resolves with the connection,
 * which `keep` has received.
 *
 * @throws The error that `pickError` picks, or the signal's reason.
 */
export async function openInTurn<T>(
  endpoints: readonly Endpoint[],
  { first, signal, open, keep, discard, pickError }: OpenInTurnOptions<T>,
): Promise<T> {
  const failures: unknown[] = [];
  const indexes = Array.from(endpoints, (_, i) => (first + i) % endpoints.length);
  for (const index of indexes) {
    const endpoint = endpoints[index];
    if (endpoint === undefined) continue;
    try {
      const opened = await open(endpoint);
      if (signal.aborted) discard(opened);
      signal.throwIfAborted();
      keep(opened, index);
      return opened;
    } catch (error) {
      signal.throwIfAborted();
      failures.push(error);
    }
  }
  throw pickError(failures);
}
