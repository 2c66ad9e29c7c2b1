/** What a store's server reports about itself, for diagnosis. */

/** A server's description of itself, for diagnosis. Facts that it does not report are absent. */
export interface StoreReport {
  readonly version?: string;
  /**
   * How far the server's wall clock is ahead of this process's, and the largest error of that
   * measurement, both in ms.
   */
  readonly clock?: { readonly aheadMs: number; readonly withinMs: number };
  /** What else somebody wants to know who looks for a fault: replicas, sizes, sessions. */
  readonly facts?: readonly StoreFact[];
  /**
   * Settings of the server, states of its replicas, or uses of it that weaken its guarantees or
   * delay elections.
   */
  readonly warnings: readonly string[];
}

/** For example `{ what: 'replication', detail: 'no standby' }`. */
export interface StoreFact {
  readonly what: string;
  readonly detail: string;
  /** True if this state weakens the guarantees of the server. Default false. */
  readonly isWeak?: boolean;
}
