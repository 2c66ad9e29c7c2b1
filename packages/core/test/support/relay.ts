/** A store in front of another one, with some of its methods replaced. */

import { type Change, type Store, StoreError } from '../../src/index.ts';

export type Calls = Pick<
  Store,
  'grantLease' | 'renewLease' | 'revokeLease' | 'compareAndSwap' | 'enqueue' | 'read' | 'list' | 'watch' | 'watchList'
>;

/** Calls that `replace` does not name go to the store behind, unchanged. */
export function relay(behind: Store, replace: Partial<Calls & Pick<Store, 'capabilities' | 'name'>>): Store {
  const close = (): Promise<void> => behind.close();
  return {
    name: behind.name,
    capabilities: behind.capabilities,
    grantLease: (...a) => behind.grantLease(...a),
    renewLease: (...a) => behind.renewLease(...a),
    revokeLease: (...a) => behind.revokeLease(...a),
    compareAndSwap: (...a) => behind.compareAndSwap(...a),
    enqueue: (...a) => behind.enqueue(...a),
    read: (...a) => behind.read(...a),
    list: (...a) => behind.list(...a),
    watch: (...a) => behind.watch(...a),
    watchList: (...a) => behind.watchList(...a),
    close,
    [Symbol.asyncDispose]: close,
    ...replace,
  };
}

/** The error of a call whose outcome is unknown. */
export function timeout(): StoreError {
  return new StoreError('TIMEOUT', 'unknown', 'no answer in time');
}

/** The error of a call that the store does not allow. */
export function denied(): StoreError {
  return new StoreError('PERMISSION_DENIED', 'refused', 'not allowed');
}

/** A watch that fails at once. */
export async function* failing(error: unknown): AsyncGenerator<never, void, undefined> {
  throw error;
}

export interface PermissionOptions {
  /** Selects the swaps that are denied. Default: all. */
  readonly applies?: (changes: readonly Change[]) => boolean;
  /** The error of a denied swap. Default: `PERMISSION_DENIED`. */
  readonly error?: () => StoreError;
}

/** A store that denies swaps while `denied` is true. */
export class Permission {
  denied = false;
  readonly store: Store;

  constructor(behind: Store, { applies = () => true, error = denied }: PermissionOptions = {}) {
    this.store = relay(behind, {
      compareAndSwap: async (changes, options) => {
        if (this.denied && applies(changes)) throw error();
        return behind.compareAndSwap(changes, options);
      },
    });
  }
}

/** Makes the first `times` watches fail as denied. */
export function denyFirst(times: number): <T>(watch: () => AsyncIterable<T>) => AsyncIterable<T> {
  let left = times;
  return (watch) => {
    left -= 1;
    return left < 0 ? watch() : failing(denied());
  };
}
