/** Which servers to dial, and in which order. */

import { type Endpoint, endpointName, startingAt } from '@incumbent/network';

import type { ExchangeError } from '../protocol/failure.ts';

/**
 * Where to begin: at a server that has served or was named, or after a server that has refused a
 * request or was silent.
 */
export type StartingPoint = { readonly at: Endpoint } | { readonly after: Endpoint };

/** Names the servers to dial. */
export interface Servers {
  /**
   * Yields the servers to dial, in order. The client calls this whenever it has no connection,
   * dials one server after the other, and stops at the first one that accepts it. The client skips
   * a server that was yielded already. `start` is undefined until a server has accepted the client
   * or was silent. May throw an `ExchangeError` when there are no more servers, or the signal's
   * reason.
   */
  find(start: StartingPoint | undefined, signal: AbortSignal): AsyncIterable<Endpoint>;
  /**
   * Calls `onReplaced` at most once, when the server that `find` named last should no longer be
   * used, although it may still accept writes. Ends when the signal aborts. Undefined if nothing
   * can tell.
   */
  readonly watch?: (onReplaced: (why: ExchangeError) => void, signal: AbortSignal) => void;
}

/**
 * A fixed list, in turn. Begins at the starting point, or with the server after it. The starting
 * point need not be in the list.
 */
export function listedServers(endpoints: readonly Endpoint[]): Servers {
  return {
    async *find(start) {
      const from = start === undefined ? undefined : 'at' in start ? start.at : start.after;
      const index = endpoints.findIndex((endpoint) => from !== undefined && endpointName(endpoint) === endpointName(from));
      const next = index === -1 ? 0 : (index + 1) % endpoints.length;
      if (start !== undefined && 'at' in start) yield start.at;
      // Comes back to the server itself last: it may accept requests again.
      yield* startingAt(endpoints, next);
      if (start !== undefined && 'after' in start && index === -1) yield start.after;
    },
  };
}

/** How many redirections the client follows while it connects once. */
export const MAX_REDIRECTIONS = 5;

/**
 * The server that an answer `MOVED <slot> <host>:<port>` names. Undefined if it names none. An
 * empty host means the host of the server that answered.
 */
export function movedTo(text: string, from: Endpoint): Endpoint | undefined {
  const [, host = '', digits] = /^MOVED \d+ (\S*):(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits ?? 0);
  if (port < 1 || port > 65_535 || host === '?') return undefined;
  return { host: host === '' ? from.host : host, port };
}
