/** The store under faults: its servers, and each member's own way to it. */

import type { Faults, Proxy, StoreVersion } from '@incumbent/test-support';

export type StoreName = 'consul' | 'etcd' | 'redis' | 'sqlite' | 'zookeeper';

export interface SiteOptions {
  readonly version: StoreVersion;
  /** Whether a server that is killed comes back with nothing: Redis without a file. */
  readonly forgets: boolean;
  /**
   * Whether every second member reaches the servers through one address, as by a load balancer:
   * etcd and ZooKeeper.
   */
  readonly oneAddress: boolean;
  /** What this machine cannot do, for people. */
  readonly say: (line: string) => void;
}

/** How one member reaches the store: nobody else passes here. */
export interface Way {
  readonly url: string;
  readonly proxies: readonly Proxy[];
  /** Whether one address stands for all servers. */
  readonly oneAddress: boolean;
}

export interface Site extends AsyncDisposable {
  readonly store: StoreName;
  readonly version: string;
  /** Past all proxies: for whoever looks from outside. */
  readonly url: string;
  /** The same by each server alone; none where the store is a file. */
  readonly serverUrls: readonly string[];
  /** None where the store is a file. */
  readonly servers: readonly Faults[];
  /** What lies between servers, where something can be done to it. */
  readonly partition?: { cutOff(server: number): void; slow(server: number, ms: number): void; heal(): Promise<void> };
  /** A server's disk that can be made to hang, where there is one. */
  readonly disk?: { readonly server: number; freeze(): Promise<void>; thaw(): Promise<void> };
  /** Which server leads the others. Throws where that cannot be known now. */
  leader(): Promise<number>;
  openWay(member: number): Promise<Way>;
  /**
   * Deletes the leader's record as an operator would, by the store's own tool. Throws where there
   * is none, or the tool fails.
   */
  deleteRecord(): Promise<void>;
  /** Deletes the entry of the leader, which the record names, from the queue. Likewise. */
  deleteEntry(): Promise<void>;
  /** Whether this store is excused where it ends leases early, as far as it says so of itself. */
  readonly mayEndEarly: boolean;
}
