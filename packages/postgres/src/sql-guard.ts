/** The fence for a leader's own transactions in the database of the store. */

import type { Leadership, Store } from '@incumbent/core';
import { invalidOption, storeOfGuard } from '@incumbent/core/adapter';

import type { SqlGuard } from './guard-statement.ts';
import { RAISED } from './schema/functions.ts';
import { PostgresStore } from './store.ts';

/** How deep libraries wrap an error of the server. */
const MAX_CAUSES = 8;

/**
 * The statement that a leader runs first in its own transaction, on the database of the store. The
 * transaction then commits before another member is elected, or never:
 *
 * - The statement fails with the SQLSTATE `IC004` ({@link isStaleTerm}) if a newer term exists, or
 *   if the lease or the record of this leadership has gone.
 * - Until the transaction ends, the next claim waits. So does a resignation or a handover of this
 *   leadership. A transaction delays them, so keep it short.
 * - The server ends the connection of a transaction that is idle for longer than the ttl, so a
 *   leader that stands still does not delay the next one for longer.
 *
 * Run it inside the transaction, and not within a savepoint: a rollback to a savepoint releases the
 * lock. Outside a transaction it protects nothing. Do not use `PREPARE TRANSACTION` after it: until
 * a prepared transaction is committed or rolled back, nobody can be elected.
 *
 * `store` is the store of the member, or another one on the same database, schema and namespace. On
 * another database or schema, the statement fails as if the term were stale.
 *
 * @throws `LEADERSHIP_ENDED` if `leadership.isValid()` is false. A `TypeError` (`INVALID_OPTION`)
 *   if the store is not of this package, or if the leadership is in a store of another kind or
 *   namespace.
 */
export function sqlGuard(store: Store, leadership: Pick<Leadership, 'assertValid' | 'guard'>): SqlGuard {
  if (!(store instanceof PostgresStore)) throw invalidOption('store', store.name, 'a store that openPostgres has opened');
  leadership.assertValid();
  const guard = leadership.guard();
  const own = storeOfGuard(guard) ?? store;
  if (own.name !== store.name || own.namespace !== store.namespace)
    throw invalidOption(
      'leadership',
      leadership,
      `a leadership in the store that was passed (${shown(store)}), and its store is ${shown(own)}`,
    );
  return store.guardStatement(guard);
}

function shown({ name, namespace = '' }: Pick<Store, 'name' | 'namespace'>): string {
  return `"${name}" with the namespace "${namespace}"`;
}

/**
 * Whether an error of a database library says that {@link sqlGuard} has refused the transaction.
 * Also finds the server's error if the library has wrapped it.
 */
export function isStaleTerm(error: unknown): boolean {
  let current = error;
  for (let depth = 0; depth < MAX_CAUSES; depth += 1) {
    if (typeof current !== 'object' || current === null) return false;
    if ('code' in current && current.code === RAISED.staleTerm) return true;
    // As Prisma reports it.
    if ('meta' in current && JSON.stringify(current.meta ?? null).includes(`"${RAISED.staleTerm}"`)) return true;
    current = 'cause' in current ? current.cause : undefined;
  }
  return false;
}
