/**
 * All watches of one store. A blocking query occupies a connection, so their number is limited.
 * While there are few watches, each has a query of its own. Further watches share queries: first,
 * those whose keys begin with the same name share a query for all keys under that name; in the end,
 * all further watches share one query for all keys. Consul answers a shared query, in full, at
 * every change of any key that the query covers.
 */

import { storeClosed } from '@incumbent/network';

import { BlockingQuery, type QueryContext, type QuerySubscriber } from './blocking-query.ts';
import type { Namespace } from './namespace.ts';
import type { Target } from './protocol/kv.ts';
import { TokenBucket } from './token-bucket.ts';

/** The part of the queries that serve a single target. */
const UNSHARED_RATIO = 3 / 4;

/** How often one query is sent. */
const RATE = { burst: 20, everyMs: 50 } as const;

export interface WatchHubOptions extends QueryContext {
  readonly namespace: Namespace;
  /** The highest number of queries at a time. */
  readonly maxQueries: number;
}

export class WatchHub {
  readonly #options: WatchHubOptions;
  readonly #queries = new Map<string, BlockingQuery>();
  readonly #subscribers = new Set<QuerySubscriber>();
  #isClosed = false;

  constructor(options: WatchHubOptions) {
    this.#options = options;
  }

  /**
   * Reports the state of the subscriber's target until the returned function is called.
   */
  subscribe(subscriber: QuerySubscriber): () => void {
    if (this.#isClosed) {
      subscriber.onFailed(storeClosed('consul'));
      return () => {};
    }
    const covering = this.#queryTargetFor(subscriber.target);
    const query = this.#queries.get(covering.path) ?? this.#startQuery(covering);
    this.#subscribers.add(subscriber);
    query.add(subscriber);
    return () => {
      this.#subscribers.delete(subscriber);
      query.remove(subscriber);
      if (query.subscribers === 0 && this.#queries.get(covering.path) === query) this.#queries.delete(covering.path);
    };
  }

  /** Ends every watch with `STORE_CLOSED`, also those that begin later. */
  close(): void {
    this.#isClosed = true;
    for (const subscriber of [...this.#subscribers]) subscriber.onFailed(storeClosed('consul'));
  }

  /**
   * The narrowest target for which there is a query, or room for one. The last query is reserved
   * for all keys.
   */
  #queryTargetFor(target: Target): Target {
    const { namespace, maxQueries } = this.#options;
    const { size } = this.#queries;
    if (this.#queries.has(target.path) || size < Math.floor(maxQueries * UNSHARED_RATIO)) return target;
    const wider = namespace.around(target);
    return wider.find(({ path }) => this.#queries.has(path) || size < maxQueries - 1) ?? namespace.all;
  }

  #startQuery(target: Target): BlockingQuery {
    const query = new BlockingQuery(this.#options, target, new TokenBucket(this.#options.clock, RATE));
    this.#queries.set(target.path, query);
    return query;
  }
}
