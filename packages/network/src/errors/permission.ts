/** Names what a user lacks, so that an administrator can grant it. */

import { isIncumbentError, StoreError } from '@incumbent/core/adapter';

/** What a call needs and its user lacks. */
export interface MissingPermission {
  /** In the store's own word: `readwrite`, `key:write`. */
  readonly right: string;
  /** As the store has them. Empty if the right is not one on keys. */
  readonly keys: readonly string[];
  /** The command or the rule with which an administrator grants the right. Without secrets. */
  readonly grant: string;
}

/** A message names at most this many keys. `details.keys` has all of them. */
const SHOWN_KEYS = 3;

/**
 * Returns a `PERMISSION_DENIED` with the missing right, its keys and the grant, in the message and
 * in `details`. Returns every other error unchanged, also one that names a grant already.
 */
export function withGrant(error: unknown, missing: () => MissingPermission): unknown {
  if (!(error instanceof StoreError) || !isIncumbentError(error, 'PERMISSION_DENIED') || error.details.grant !== undefined) return error;
  const { right, keys, grant } = missing();
  const message = `${error.message}; missing: ${right}${placeOf(keys)}; to grant it: ${grant}`;
  const cause = error.cause === undefined ? {} : { cause: error.cause };
  return new StoreError('PERMISSION_DENIED', error.outcome, message, { ...cause, details: { ...error.details, right, keys, grant } });
}

function placeOf(keys: readonly string[]): string {
  if (keys.length === 0) return '';
  const shown = keys.slice(0, SHOWN_KEYS).map((key) => JSON.stringify(key));
  return ` on ${shown.join(', ')}${keys.length > SHOWN_KEYS ? ` and ${keys.length - SHOWN_KEYS} more` : ''}`;
}

/** Settles as `call` does, but with the error of {@link withGrant}. */
export async function namingGrant<T>(call: Promise<T>, missing: () => MissingPermission): Promise<T> {
  try {
    return await call;
  } catch (error) {
    throw withGrant(error, missing);
  }
}
