/** The option `pool`: connections that the application has configured already. */

import { invalidOption } from '@incumbent/core/adapter';

/**
 * A `Pool` of the package [`pg`](https://node-postgres.com), version 8. The store takes connections
 * of its own out of the pool and keeps them: one for calls, up to five while many calls are under
 * way, and one that listens while there are watches. It never gives a used connection back. The
 * pool removes a connection when the store has finished with it, or when a call on it has timed
 * out.
 */
export interface PostgresPool {
  /** Resolves with a connected client that nobody else uses. */
  connect(): Promise<unknown>;
  /** `max` is at least 3. */
  readonly options?: { readonly max?: number };
}

/** One connection for calls, one that listens, and one for the application. */
const MIN_CONNECTIONS = 3;

/**
 * Throws a `TypeError` or `RangeError` (`INVALID_OPTION`). The message never contains the pool's
 * password.
 */
export function checkPool(pool: PostgresPool): PostgresPool {
  if (typeof pool !== 'object' || pool === null || typeof pool.connect !== 'function')
    throw invalidOption('pool', pool, 'a Pool of the package pg');
  const max = pool.options?.max;
  if (typeof max === 'number' && max < MIN_CONNECTIONS) throw invalidOption('pool.options.max', max, `${MIN_CONNECTIONS} or more`);
  return pool;
}
