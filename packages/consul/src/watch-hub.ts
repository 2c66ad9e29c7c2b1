/**
 * All watches of one store. Each has a blocking query of its own while there are few; beyond that they share, as a blocking query is a connection: those that begin
 * with the same name look through one query of everything under it, and at last all through one of everything. That one is answered at every change
 * of what it covers, in full.
 */

import { systemRandom } from '@incumbent/core/adapter';

import type { Target } from './protocol/kv.ts';
import { Bucket } from './token-bucket.ts';
import { storeClosed } from './errors.ts';
import type { Namespace } from './namespace.ts';
import { Query, type QueryContext, type Viewer } from './blocking-query.ts';
import { Recovery } from './recovery.ts';

/** So many of the queries may be watches' own. */
const OWN = 3 / 4;

/** A query may be asked as often at once, and then every so many ms. */
const RATE = { burst: 20, everyMs: 50 } as const;

export interface HubOptions extends Omit<QueryContext, 'recovery'> {
  readonly namespace: Namespace;
  /** The most queries at a time. */
  readonly maxQueries: number;
}

export class WatchHub {
  readonly #options: HubOptions;
  readonly #context: QueryContext;
  readonly #queries = new Map<string, Query>();
  readonly #viewers = new Set<Viewer>();

  constructor(options: HubOptions) {
    this.#options = options;
    this.#context = { ...options, recovery: new Recovery(options.clock, systemRandom) };
  }

  /** Shows what is there until the returned function is called. */
  look(target: Target, viewer: Viewer): () => void {
    if (this.#options.client.closed) {
      viewer.fail(storeClosed());
      return () => {};
    }
    const through = this.#through(target);
    const query = this.#queries.get(through.path) ?? this.#begin(through);
    this.#viewers.add(viewer);
    query.add(viewer);
    return () => {
      this.#viewers.delete(viewer);
      query.remove(viewer);
      if (query.viewers === 0 && this.#queries.get(through.path) === query) this.#queries.delete(through.path);
    };
  }

  /** Ends every watch. */
  close(): void {
    for (const viewer of [...this.#viewers]) viewer.fail(storeClosed());
  }

  /** What to ask for: as little as there is room for. The last place is for everything. */
  #through(target: Target): Target {
    const { namespace, maxQueries } = this.#options;
    const { size } = this.#queries;
    if (this.#queries.has(target.path) || size < Math.floor(maxQueries * OWN)) return target;
    const around = namespace.around(target);
    return around.find(({ path }) => this.#queries.has(path) || size < maxQueries - 1) ?? namespace.all;
  }

  #begin(target: Target): Query {
    const query = new Query(this.#context, target, new Bucket(this.#context.clock, RATE));
    this.#queries.set(target.path, query);
    return query;
  }
}
