/** A store in front of another one, with some of its methods replaced. */

import type { Store } from '../../src/index.ts';

export type Calls = Pick<
  Store,
  'grantLease' | 'renewLease' | 'revokeLease' | 'compareAndSwap' | 'enqueue' | 'read' | 'list' | 'watch' | 'watchList'
>;

/** What `replace` does not name goes to the store behind, unchanged. */
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

/** A watch that cannot go on. */
export async function* failing(error: unknown): AsyncGenerator<never, void, undefined> {
  throw error;
}
