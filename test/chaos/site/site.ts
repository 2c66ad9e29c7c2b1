/** The store under faults: its servers, and each member's own connection to it. */

import type { Faults, Proxy, StoreVersion } from '@incumbent/test-support';

export type StoreName = 'consul' | 'etcd' | 'kubernetes' | 'postgres' | 'redis' | 'sqlite' | 'zookeeper';

export interface SiteOptions {
  readonly version: StoreVersion;
  /** Whether a server that is killed comes back without data: Redis without a file. */
  readonly forgets: boolean;
  /**
   * Whether every second member reaches the servers through one address, as through a load
   * balancer: etcd and ZooKeeper.
   */
  readonly oneAddress: boolean;
  /** Reports to people what this machine cannot do. */
  readonly say: (line: string) => void;
}

/** How one member reaches the store. No other member uses this path. */
export interface Way {
  readonly url: string;
  readonly proxies: readonly Proxy[];
  /** Whether one address stands for all servers. */
  readonly oneAddress: boolean;
}

export interface Site extends AsyncDisposable {
  readonly store: StoreName;
  readonly version: string;
  /** The store's URL past all proxies, for observers from outside. */
  readonly url: string;
  /** The same for each server alone. Empty if the store is a file. */
  readonly serverUrls: readonly string[];
  /** Empty if the store is a file. */
  readonly servers: readonly Faults[];
  /** The links between servers, where faults are possible. */
  readonly partition?: { cutOff(server: number): void; slow(server: number, ms: number): void; heal(): Promise<void> };
  /** The server whose disk can be made to hang, if there is one. */
  readonly disk?: { readonly server: number; freeze(): Promise<void>; thaw(): Promise<void> };
  /** The server that leads the others. Throws if it is unknown now. */
  leader(): Promise<number>;
  openWay(member: number): Promise<Way>;
  /**
   * Deletes the leader's record as an operator would, with the store's own tool. Throws if there is
   * no record or the tool fails.
   */
  deleteRecord(): Promise<void>;
  /**
   * Deletes the leader's entry, which the record names, from the queue. Throws in the same cases.
   */
  deleteEntry(): Promise<void>;
  /** Whether the store may end leases early, as it declares. */
  readonly mayEndEarly: boolean;
}
